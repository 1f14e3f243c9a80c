/** Late binding: delivers environment variables, files and a start command to a running sandbox, by `/v1/bind`. @module */
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { relative } from "node:path";
import type { Context, Hono, MiddlewareHandler } from "hono";
import * as z from "zod";
import { MissingError, type ResolveOptions, type Root } from "./confine.ts";
import { parseMode } from "./files/list.ts";
import { removePath } from "./files/manage.ts";
import { Refused, refusedFor } from "./files/refused.ts";
import { commit, discard, withTarget, writeTemporary } from "./files/write.ts";
import { refuse } from "./http/answers.ts";
import { readJSON } from "./http/body.ts";
import { CHALLENGE, tokenRefusal } from "./http/guard.ts";
import type { HTTPEnv } from "./http/httppath.ts";
import { type BoundVariables, SpawnError } from "./processes/command.ts";
import type { Processes } from "./processes/processes.ts";
import type { RestOptions } from "./rest/rest.ts";
import { forward } from "./users/userruntime.ts";

/** Names of what is bound; never values. */
interface BoundNames {
  /** `sha256:<hex>` of the whole delivery; `digestOf` describes the format. */
  digest: string;
  /** Names of the variables, sorted. */
  env: string[];
  /** Paths, sorted: relative to the working directory for files in it, and absolute for others. */
  files: string[];
  /** UID of the claim whose variables have come; absent: none have. */
  claim?: string;
  /** Id of the process of the start command; absent: none was started. */
  processId?: number;
}

/** The binding of a sandbox; there is only one. */
export interface LateBinding {
  /**
   * Returns the variables for processes that start from now on. If some must come, waits for the first delivery.
   *
   * @throws {Refused} UNAVAILABLE if there is none for {@link LONGEST_WAIT_MS}
   */
  env(): Promise<Record<string, string>>;
  /** Returns the names of what is bound; undefined if nothing is bound. */
  bound(): BoundNames | undefined;
  /**
   * Replaces the current binding by `delivery`, or adds to it. All files are written first, then moved to their paths
   * one right after the other, then the variables are set. With `replace`, files of the previous binding that are not in
   * this one are deleted. If a file cannot be written, nothing changes. The same delivery always gives the same result.
   *
   * The start command is started last, and only once for a claim. With a claim, `add` leaves files that were bound before as
   * they are: a program may have bound newer ones.
   *
   * @param delivery parsed JSON; `deliverySchema` describes it
   * @param claim UID of the claim whose variables these are: processes wait for no others. Absent: another program's
   * @throws {Refused} INVALID_ARGUMENT, with names of fields but never values; or an error of writing a file
   */
  bind(delivery: unknown, how: "replace" | "add", claim?: string): Promise<BoundNames>;
  /** Removes variables and files. Running processes keep the variables that they have. */
  revoke(): Promise<void>;
}

/** Variable names that the published clients accept. */
const ENV_NAME = /^[-._a-zA-Z][-._a-zA-Z0-9]*$/;
const MOST_FILES = 256;
const SECRET_MODE = "0600";

const fileSchema = z.strictObject({
  path: z.string().min(1),
  /** Content as text or in base64; exactly one of the two is set. */
  content: z.string().optional(),
  content_base64: z.base64().optional(),
  mode: z.string().refine((mode) => parseMode(mode) !== undefined, "must be four octal digits such as 0600").optional(),
}).refine(
  (file) => (file.content === undefined) !== (file.content_base64 === undefined),
  "must have one of content and content_base64",
);

/**
 * A delivery: `{"env": {"NAME": "value"}, "files": [{"path", "content" | "content_base64", "mode"?}], "start"?}`. `start` is
 * a script for `/bin/sh -c`.
 */
const deliverySchema = z.strictObject({
  env: z.record(
    z.string().regex(ENV_NAME, "is not a variable name"),
    z.string().refine((value) => !value.includes("\0"), "must not hold a NUL byte"),
  ).default({}),
  files: z.array(fileSchema).max(MOST_FILES).default([]),
  start: z.string().min(1).refine((script) => !script.includes("\0"), "must not hold a NUL byte").optional(),
});

/** A file without its content. */
interface BoundFile {
  path: string;
  mode: string;
  /** In hexadecimal digits. */
  sha256: string;
}

interface NewFile extends BoundFile {
  content: Buffer;
}

/** How long a process waits for the variables that must come, in milliseconds. */
const LONGEST_WAIT_MS = 60_000;

/** Starts a script in the background. @returns the id of its process @throws {SpawnError} */
export type StartScript = (script: string) => Promise<number>;

/**
 * Returns a function that runs scripts in the working directory, as commands that a client has started in the
 * background.
 */
export function startsScripts({ workdir }: Root, processes: () => Processes): StartScript {
  return async (script) => {
    const command = { argv: ["/bin/sh", "-c", script], cwd: workdir, env: {} };
    const { running } = await processes().start(command, { detached: true, name: START_NAME });
    return running.pid;
  };
}

/** Name of the start command in lists of processes. */
const START_NAME = "start-command";

/**
 * Returns the root for requests of clients, to whom the files of a claim are there from the start: its paths are resolved
 * when the variables have come.
 */
export function afterDelivery(root: Root, env: BoundVariables): Root {
  let hasCome = false;
  const locate = async (path: string, options?: ResolveOptions) => {
    if (!hasCome) await env();
    hasCome = true;
    return await root.locate(path, options);
  };
  return { ...root, locate, resolve: async (path, options) => (await locate(path, options)).path };
}

/**
 * Creates the binding of the sandbox at `root`. It is empty at first.
 *
 * @param isAwaited processes wait for the first delivery
 */
export function createBinding(root: Root, start: StartScript, isAwaited = false): LateBinding {
  const first = Promise.withResolvers<void>();
  let env: Record<string, string> = {};
  let files: BoundFile[] = [];
  let bound: BoundNames | undefined;
  let ofClaim: string | undefined;
  let started: { claim: string; processId: number } | undefined;
  // One delivery at a time: two at the same time would mix their files.
  let last: Promise<unknown> = Promise.resolve();
  const inTurn = <T>(act: () => Promise<T>): Promise<T> => {
    const next = last.then(act, act);
    last = next;
    return next;
  };
  const removeAll = async (former: BoundFile[]) => {
    for (const { path } of former) {
      await removePath(root, path, false).catch((error) => {
        if (!(error instanceof MissingError) && refusedFor(error, path)?.code !== "NOT_FOUND") throw error;
      });
    }
  };
  return {
    async env() {
      if (isAwaited && ofClaim === undefined) await within(LONGEST_WAIT_MS, first.promise);
      return env;
    },
    bound: () => bound,
    bind: (delivery, how, claim) =>
      inTurn(async () => {
        const { start: script, ...parsed } = parseDelivery(delivery);
        if (script !== undefined && claim === undefined) {
          throw new Refused("INVALID_ARGUMENT", "Cannot bind: only a claim has a start command");
        }
        const given = await newFilesOf(root, parsed.files);
        // The start command may have changed its files, or deleted them.
        const isLater = claim !== undefined && (how === "add" || started?.claim === claim);
        const isKept = new Set(isLater ? files.map(({ path }) => path) : []);
        const written = given.filter(({ path }) => !isKept.has(path));
        await deliver(root, written);
        const isGiven = new Set(given.map(({ path }) => path));
        const others = files.filter(({ path }) => isKept.has(path) || !isGiven.has(path));
        const gone = how === "add" ? [] : others.filter(({ path }) => !isGiven.has(path));
        const before = { env, ofClaim };
        env = how === "add" ? { ...env, ...parsed.env } : parsed.env;
        const kept = others.filter((file) => !gone.includes(file));
        files = [...kept, ...written.map(({ content: _, ...file }) => file)].sort(byPath);
        ofClaim = claim ?? ofClaim;
        if (script !== undefined && claim !== undefined && started?.claim !== claim) {
          const processId = await start(script).catch((error) => {
            ({ env, ofClaim } = before);
            throw startRefusal(error);
          });
          started = { claim, processId };
        }
        bound = {
          digest: digestOf(env, files),
          env: Object.keys(env).sort(),
          files: files.map(({ path }) => path),
          ...ofClaim === undefined ? {} : { claim: ofClaim },
          ...started?.claim === ofClaim && started ? { processId: started.processId } : {},
        };
        if (ofClaim !== undefined) first.resolve();
        await removeAll(gone);
        return bound;
      }),
    revoke: () =>
      inTurn(async () => {
        const former = files;
        env = {};
        files = [];
        bound = undefined;
        await removeAll(former);
      }),
  };
}

function startRefusal(error: unknown): unknown {
  if (!(error instanceof SpawnError)) return error;
  return new Refused("INVALID_ARGUMENT", `Cannot start the command of the claim: ${error.message}`);
}

async function within(ms: number, promise: Promise<void>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<void>((_, reject) => {
    const why = "the variables of the claim have not come yet: see the log of hookbox's binder";
    timer = setTimeout(() => reject(new Refused("UNAVAILABLE", `Cannot start a process: ${why}`)), ms);
  });
  await Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

function parseDelivery(delivery: unknown): z.infer<typeof deliverySchema> {
  const { data, error } = deliverySchema.safeParse(delivery);
  if (data) return data;
  const issues = error.issues.map(({ path, message, code }) =>
    `${path.join(".") || "body"}: ${code === "unrecognized_keys" ? "has unknown fields" : message}`
  );
  throw new Refused("INVALID_ARGUMENT", `Cannot bind: ${issues.join("; ")}`);
}

async function newFilesOf(root: Root, files: z.infer<typeof fileSchema>[]): Promise<NewFile[]> {
  const secrets = await Promise.all(files.map(async ({ path, content, content_base64, mode = SECRET_MODE }) => {
    if (path.endsWith("/")) throw new Refused("INVALID_ARGUMENT", `Cannot bind "${path}": it is a folder`);
    const real = await root.resolve(path, { missing: "allow" }).catch((error) => {
      throw refusedFor(error, path) ?? error;
    });
    const bytes = content === undefined ? Buffer.from(content_base64 ?? "", "base64") : Buffer.from(content);
    return { path: fromWorkdir(root, real), mode, sha256: sha256(bytes), content: bytes };
  }));
  secrets.sort(byPath);
  const twice = secrets.find(({ path }, i) => path === secrets[i + 1]?.path);
  if (twice) throw new Refused("INVALID_ARGUMENT", `Cannot bind "${twice.path}": it is there twice`);
  return secrets;
}

/** The sender of a delivery, which computes its digest, does not know the working directory. */
function fromWorkdir({ workdir }: Root, path: string): string {
  const inside = relative(workdir, path);
  if (inside === ".." || inside.startsWith("../")) return path;
  return inside === "~" || inside.startsWith("~/") ? `./${inside}` : inside;
}

function byPath(a: BoundFile, b: BoundFile): number {
  return a.path < b.path ? -1 : 1;
}

/** Writes all files under temporary names, then renames them. If writing fails, nothing has changed. */
async function deliver(root: Root, [secret, ...rest]: NewFile[]): Promise<void> {
  if (!secret) return;
  const { path, mode, content } = secret;
  await withTarget(root, path, true, async (folder, name) => {
    const temporary = await writeTemporary(folder, name, path, chunkOf(content), { mode: parseMode(mode) });
    try {
      await deliver(root, rest);
    } catch (error) {
      await discard(folder, temporary.name);
      throw error;
    }
    await commit(folder, temporary, name);
  }).catch((error) => {
    throw refusedFor(error, path) ?? error;
  });
}

async function* chunkOf(content: Uint8Array): AsyncGenerator<Uint8Array> {
  yield await Promise.resolve(content);
}

/**
 * Returns `sha256:<hex>` of the JSON `[[[name, value], …], [[path, mode, <sha256 hex of the content>], …]]` without
 * blanks. Both lists are sorted by their first element. The sender of a delivery can compute the same digest and
 * compare.
 */
function digestOf(env: Record<string, string>, files: BoundFile[]): string {
  const variables = Object.entries(env).sort(([a], [b]) => a < b ? -1 : 1);
  const entries = files.map(({ path, mode, sha256 }) => [path, mode, sha256]);
  return `sha256:${sha256(JSON.stringify([variables, entries]))}`;
}

function sha256(data: string | Uint8Array): string {
  return createHash("sha256").update(data).digest("hex");
}

/** Largest delivery, in bytes; it is held in memory. */
const DELIVERY_BYTES = 16 * 1024 * 1024;

/** Adds the endpoints to the app. */
export function addBindEndpoints(app: Hono<HTTPEnv>, { binding, token, log, users }: RestOptions): void {
  app.use("/v1/bind", onlyWithToken(token));
  const { home } = users;
  // The default user's runtime writes the files, so that they belong to this user.
  if (home) app.all("/v1/bind", (c) => forward(c, home, "rest"));
  app.on(["POST", "PATCH"], "/v1/bind", async (c) => {
    const how = c.req.method === "PATCH" ? "add" : "replace";
    const bound = await binding.bind(await readJSON(c, DELIVERY_BYTES), how, c.req.query("claim"));
    // Not the digest: somebody who reads logs could find short values by trying.
    log("info", "Bound", { env: bound.env, files: bound.files, startCommand: bound.processId });
    return c.json(bound);
  });
  app.get("/v1/bind", (c) => {
    const bound = binding.bound();
    return bound ? c.json(bound) : refuse("NOT_FOUND", "Cannot show the binding: nothing is bound");
  });
  app.delete("/v1/bind", async (c) => {
    await binding.revoke();
    log("info", "Binding revoked");
    return c.body(null, 204);
  });
}

/**
 * Refuses binding if no token is mounted, unlike other endpoints: otherwise anybody who reaches the port could bind.
 */
function onlyWithToken(token: RestOptions["token"]): MiddlewareHandler {
  return async (c: Context, next) => {
    const verdict = await token(c.req.header("Authorization"));
    if (verdict === "none") {
      return refuse("PERMISSION_DENIED", "Cannot bind: no token is mounted in this sandbox, see --token-file");
    }
    if (verdict !== "right") return refuse("UNAUTHENTICATED", tokenRefusal(verdict), CHALLENGE);
    return await next();
  };
}
