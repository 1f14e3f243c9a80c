/** Late binding: env and files delivered into a running sandbox; no value is logged or given back. @module */
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import * as z from "zod";
import { MissingError, type Root } from "./confine.ts";
import { parseMode } from "./files/entry.ts";
import { Refused, refusedFor } from "./files/refused.ts";
import { removePath } from "./files/remove.ts";
import { commit, discard, withTarget, writeTemporary } from "./files/write.ts";

/** What is bound, by name only. */
export interface Bound {
  /** `sha256:<hex>` over everything delivered: see `digestOf`. */
  digest: string;
  /** Names of variables, sorted. */
  env: string[];
  /** Paths from the root on, sorted. */
  files: string[];
}

/** The one binding of a sandbox. */
export interface Binding {
  /** Variables for processes that start from now on. */
  env(): Record<string, string>;
  /** What is bound; undefined if nothing is. */
  bound(): Bound | undefined;
  /**
   * Binds what `delivery` holds in place of what was bound before: all files are put in place one right after the
   * other, then the env; files of the former binding that are not in this one are removed. If a file cannot be written
   * nothing changes. The same delivery gives the same answer.
   *
   * @param delivery parsed JSON: see `deliverySchema`
   * @throws {Refused} INVALID_ARGUMENT names fields, never values; also what a write throws
   */
  bind(delivery: unknown): Promise<Bound>;
  /** Takes env and files away again; processes that run keep what they got. */
  revoke(): Promise<void>;
}

/** Names that the published clients accept. */
const ENV_NAME = /^[-._a-zA-Z][-._a-zA-Z0-9]*$/;
const MOST_FILES = 256;
const SECRET_MODE = "0600";

const fileSchema = z.strictObject({
  /** From the root on. */
  path: z.string().min(1),
  /** As text, or in base64: one of the two. */
  content: z.string().optional(),
  content_base64: z.base64().optional(),
  mode: z.string().refine((mode) => parseMode(mode) !== undefined, "must be four octal digits such as 0600").optional(),
}).refine(
  (file) => (file.content === undefined) !== (file.content_base64 === undefined),
  "must have one of content and content_base64",
);

/** What is delivered: `{"env": {"NAME": "value"}, "files": [{"path", "content" | "content_base64", "mode"?}]}`. */
export const deliverySchema = z.strictObject({
  env: z.record(
    z.string().regex(ENV_NAME, "is not a variable name"),
    z.string().refine((value) => !value.includes("\0"), "must not hold a NUL byte"),
  ).default({}),
  files: z.array(fileSchema).max(MOST_FILES).default([]),
});

interface Secret {
  path: string;
  mode: string;
  content: Buffer;
}

/** Makes the binding of the sandbox at `root`; nothing is bound at first. */
export function createBinding(root: Root): Binding {
  let env: Record<string, string> = {};
  let bound: Bound | undefined;
  // One after another: two deliveries at once would mix.
  let last: Promise<unknown> = Promise.resolve();
  const inTurn = <T>(act: () => Promise<T>): Promise<T> => {
    const next = last.then(act, act);
    last = next;
    return next;
  };
  const removeAll = async (paths: string[]) => {
    for (const path of paths) {
      await removePath(root, path, false).catch((error) => {
        if (!(error instanceof MissingError) && refusedFor(error, path)?.code !== "NOT_FOUND") throw error;
      });
    }
  };
  return {
    env: () => env,
    bound: () => bound,
    bind: (delivery) =>
      inTurn(async () => {
        const parsed = parseDelivery(delivery);
        const secrets = await secretsOf(root, parsed.files);
        await deliver(root, secrets);
        const former = bound?.files ?? [];
        const files = secrets.map(({ path }) => path);
        env = parsed.env;
        bound = { digest: digestOf(parsed.env, secrets), env: Object.keys(env).sort(), files };
        await removeAll(former.filter((path) => !files.includes(path)));
        return bound;
      }),
    revoke: () =>
      inTurn(async () => {
        const former = bound?.files ?? [];
        env = {};
        bound = undefined;
        await removeAll(former);
      }),
  };
}

function parseDelivery(delivery: unknown): z.infer<typeof deliverySchema> {
  const { data, error } = deliverySchema.safeParse(delivery);
  if (data) return data;
  const issues = error.issues.map(({ path, message, code }) =>
    `${path.join(".") || "body"}: ${code === "unrecognized_keys" ? "has unknown fields" : message}`
  );
  throw new Refused("INVALID_ARGUMENT", `Cannot bind: ${issues.join("; ")}`);
}

async function secretsOf(root: Root, files: z.infer<typeof fileSchema>[]): Promise<Secret[]> {
  const secrets = await Promise.all(files.map(async ({ path, content, content_base64, mode = SECRET_MODE }) => {
    const { parts } = await root.locate(path, { missing: "allow" }).catch((error) => {
      throw refusedFor(error, path) ?? error;
    });
    const bytes = content === undefined ? Buffer.from(content_base64 ?? "", "base64") : Buffer.from(content);
    return { path: parts.join("/"), mode, content: bytes };
  }));
  secrets.sort((a, b) => a.path < b.path ? -1 : 1);
  const twice = secrets.find(({ path }, i) => path === secrets[i + 1]?.path);
  if (twice) throw new Refused("INVALID_ARGUMENT", `Cannot bind "${twice.path}": it is there twice`);
  return secrets;
}

/** Writes all files beside their places and then puts them there: whatever fails while writing changes nothing. */
async function deliver(root: Root, [secret, ...rest]: Secret[]): Promise<void> {
  if (!secret) return;
  const { path, mode, content } = secret;
  await withTarget(root, path, true, async (folder, name) => {
    const temporary = await writeTemporary(folder, name, path, once(content), { mode: parseMode(mode) });
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

async function* once(content: Uint8Array): AsyncGenerator<Uint8Array> {
  yield await Promise.resolve(content);
}

/**
 * Returns `sha256:<hex>` of the JSON `[[[name, value], …], [[path, mode, <sha256 hex of the content>], …]]` without
 * blanks, both lists sorted by their first element: whoever delivered can compute it and compare.
 */
function digestOf(env: Record<string, string>, secrets: Secret[]): string {
  const variables = Object.entries(env).sort(([a], [b]) => a < b ? -1 : 1);
  const files = secrets.map(({ path, mode, content }) => [path, mode, sha256(content)]);
  return `sha256:${sha256(JSON.stringify([variables, files]))}`;
}

function sha256(data: string | Uint8Array): string {
  return createHash("sha256").update(data).digest("hex");
}
