/** Creates, finds, changes and ends the sandboxes of E2B's clients. Each is a claim, and nothing else is stored. @module */
import { randomBytes } from "node:crypto";
import type * as z from "zod";
import { isIDOf, repeatedBytes, sandboxID, TRAITS } from "../api/e2b/identity.ts";
import {
  CREATED_ANNOTATION,
  type CreatedFacts,
  E2B_LABEL,
  END_AT_ANNOTATION,
  METADATA_ANNOTATION,
} from "../api/e2b/objects.ts";
import { rfc3339 } from "../api/objects/conditions.ts";
import { type Api, pathOf, timeAt } from "../kube/api.ts";
import { pagesOf } from "../kube/requests.ts";
import { SandboxClient } from "../sdk/client.ts";
import { remove, setMode } from "../sdk/control/change.ts";
import { explain } from "../sdk/control/facts.ts";
import { callAPI, callAPIIfFound } from "../sdk/control/kube.ts";
import { type Diagnose, untilReady } from "../sdk/control/ready.ts";
import { ConflictError } from "../sdk/errors.ts";
import { type E2BSandbox, isOver, pausedSince, runningUntil, sandboxOf } from "./claim.ts";
import type { Following } from "./following.ts";
import { annotationOf, type changedNetworkSchema, checkReach, reachOf } from "./network.ts";
import { ownSandbox } from "./ownsandbox.ts";
import { suspendPaused, type Watched } from "./pauses.ts";
import { noSandbox, Problem } from "./problem.ts";
import { type CreateRequest, type ListQuery, LONGEST_S } from "./requests.ts";
import type { Template, Templates } from "./templates.ts";

/** The sandboxes of all projects. All calls throw a {@link Problem} or an error of the SDK. Timeouts are in seconds. */
export interface E2BSandboxes {
  /**
   * Creates a sandbox, and waits until it can be used.
   *
   * @param request the key of a request that may be sent twice, and a text that is the same for the same request
   */
  create(
    namespace: string,
    body: CreateRequest,
    defaultTimeout: number,
    request?: { key: string; digest: string },
  ): Promise<E2BSandbox>;
  get(namespace: string, id: string): Promise<E2BSandbox>;
  /** Returns a page, whether there is another one, and how many are running on all pages. */
  list(namespace: string, query: ListQuery): Promise<{ page: E2BSandbox[]; hasMore: boolean; running: number }>;
  /** Resumes a paused sandbox. Of a running one, it can only extend the life. */
  connect(namespace: string, id: string, timeout: number): Promise<{ sandbox: E2BSandbox; isResumed: boolean }>;
  /** Sets the end, from now; 0: at once. */
  setTimeout(namespace: string, id: string, timeout: number): Promise<void>;
  /** Extends the life: it ends at least this long from now. */
  extend(namespace: string, id: string, timeout: number): Promise<void>;
  pause(namespace: string, id: string): Promise<void>;
  /** Sets what a sandbox may reach, in place of what was set before. */
  setNetwork(namespace: string, id: string, body: z.infer<typeof changedNetworkSchema>): Promise<void>;
  kill(namespace: string, id: string): Promise<void>;
}

/** How long a creation or a resume may take, in milliseconds: the SDKs wait for 60 s. */
const READY_MS = 50_000;
/** A resumed sandbox ends no sooner than this, in milliseconds: it would end, and lose its files, while it starts. */
const LEAST_RESUMED_MS = 60_000;
/** How often to read again if somebody else changes the claim at the same time. */
const TRIES = 5;

const REUSED = [422, "Idempotency-Key has been used for another request", "idempotency_key_reused"] as const;

/** @param secrets the first makes new IDs, and all are accepted */
export function createSandboxes(
  api: Api,
  templates: Templates,
  secrets: () => readonly Uint8Array[],
  following: Pick<Following<Watched>, "follow" | "watchedBy">,
): E2BSandboxes {
  const creator = new SandboxClient({ api: following.watchedBy(api), connection: "direct" });
  const client = new SandboxClient({ api, connection: "direct" });
  const now = () => timeAt(api);

  async function read(namespace: string, name: string): Promise<E2BSandbox | undefined> {
    const claim = await callAPIIfFound<object>(api, { method: "GET", ...requestFor(namespace, name, "read") });
    return claim && sandboxOf(claim);
  }

  async function find(namespace: string, asked: string): Promise<E2BSandbox> {
    // Older SDKs append the ID of the client.
    const id = asked.replace(/-.*/, "");
    // A name that is not an ID of this project is not looked up: it may be anything, such as a path.
    const sandbox = isIDOf(secrets(), namespace, id) ? await read(namespace, id) : undefined;
    if (!sandbox || isOver(sandbox, now())) throw noSandbox(asked);
    return sandbox;
  }

  async function change({ namespace, id }: E2BSandbox, body: object): Promise<void> {
    await callAPI(api, { method: "PATCH", ...requestFor(namespace, id, "change"), body });
  }

  async function repeated(namespace: string, id: string, digest: string): Promise<E2BSandbox> {
    const sandbox = await read(namespace, id);
    if (!sandbox) {
      throw new Problem(409, "The sandbox of this Idempotency-Key is ending: use another key", "idempotency_conflict");
    }
    if (sandbox.facts.request !== digest) {
      throw new Problem(...REUSED);
    }
    await client.connect(id, { namespace, readyTimeoutMs: READY_MS });
    return await find(namespace, id);
  }

  /** Resumes the Sandbox, and waits for it. The claim's status may still be that of before the pause. */
  async function resume(found: E2BSandbox): Promise<void> {
    const { id, namespace } = found;
    const sandbox = await ownSandbox(api, found);
    if (!sandbox) throw noSandbox(id);
    const own = { kind: "Sandbox", namespace, name: sandbox.metadata.name } as const;
    const known = await setMode(api, own, "Running");
    const diagnose: Diagnose = (target, signal) => explain(api, target, signal);
    await untilReady(api, own, { readyTimeoutMs: READY_MS, known, diagnose });
    await untilReady(api, { kind: "SandboxClaim", namespace, name: id }, { readyTimeoutMs: READY_MS, diagnose });
  }

  /**
   * Finds a sandbox and changes it. Starts again if somebody else changes it in between: the decision is about its state.
   */
  async function decided<T>(namespace: string, id: string, decide: (found: E2BSandbox) => Promise<T>): Promise<T> {
    for (let tries = 1;; tries++) {
      try {
        return await decide(await find(namespace, id));
      } catch (error) {
        if (!(error instanceof ConflictError) || tries === TRIES) throw error;
      }
    }
  }

  async function pause(namespace: string, id: string): Promise<void> {
    await decided(namespace, id, async (found) => {
      if (found.state === "paused") throw new Problem(409, `Sandbox "${id}" is paused already`);
      checkFiles(found.facts);
      // If this process ends between the two writes, pauses.ts makes the second.
      const pausedAt = new Date(now()).toISOString();
      await change(found, pausedSince(found, pausedAt));
      await suspendPaused(api, found, pausedAt);
    });
  }

  async function kill(found: E2BSandbox): Promise<void> {
    const { id, namespace, uid } = found;
    if (!await remove(api, { kind: "SandboxClaim", namespace, name: id }, uid)) throw noSandbox(id);
    // Kubernetes would also delete the Sandbox, but a second later: until then, the sandbox would answer.
    const own = (await ownSandbox(api, found).catch(() => undefined))?.metadata;
    if (own) await remove(api, { kind: "Sandbox", namespace, name: own.name }, own.uid).catch(() => {});
  }

  return {
    async create(namespace, body, defaultTimeout, request) {
      const template = templates.find(namespace, body.templateID);
      if (!template) {
        const advice = `"hookbox get sbxwp -n ${namespace}" lists the pools of this project`;
        throw new Problem(404, `Template "${body.templateID}" was not found: ${advice}`);
      }
      const facts = factsOf(body, template, body.timeout ?? defaultTimeout);
      if (facts.onTimeout === "pause") checkFiles(facts);
      const reach = reachOf(body.network ?? {}, body.allow_internet_access);
      checkReach(reach, template);
      const traits = {
        isPublic: body.network?.allowPublicTraffic !== false,
        autoResume: body.autoResume?.enabled === true,
      };
      const [secret] = secrets() as [Uint8Array];
      const bytes = request ? repeatedBytes(secret, namespace, request.key) : randomBytes(16);
      const id = sandboxID(secret, namespace, traits, bytes);
      // The same key with other traits has another ID, so that the API server would see no conflict.
      const others = request ? TRAITS.map((each) => sandboxID(secret, namespace, each, bytes)) : [];
      for (const other of others) if (other !== id && await read(namespace, other)) throw new Problem(...REUSED);
      const pauses = facts.onTimeout === "pause";
      const followed = following.follow(namespace, id);
      try {
        await creator.create({
          ...template.kind === "pool" ? { pool: template.id } : { template: template.id },
          name: id,
          namespace,
          labels: { [E2B_LABEL]: "true" },
          metadata: {
            [CREATED_ANNOTATION]: JSON.stringify({ ...facts, ...request ? { request: request.digest } : {} }),
            [METADATA_ANNOTATION]: JSON.stringify(body.metadata ?? {}),
            ...reach === undefined ? {} : annotationOf(reach) as Record<string, string>,
            ...pauses ? { [END_AT_ANNOTATION]: rfc3339(new Date(now() + facts.timeout * 1000)) } : {},
          },
          env: body.envVars ?? {},
          timeoutMs: pauses ? null : facts.timeout * 1000,
          readyTimeoutMs: READY_MS,
        });
        const claim = followed?.latest();
        return (claim && sandboxOf(claim)) ?? await find(namespace, id);
      } catch (error) {
        if (request && error instanceof ConflictError) return await repeated(namespace, id, request.digest);
        throw error;
      } finally {
        followed?.end();
      }
    },
    get: find,
    async list(namespace, query) {
      const all: E2BSandbox[] = [];
      const path = pathOf({ resource: "sandboxclaims", namespace });
      for await (const { items } of pagesOf<object>(api, path, { labelSelector: `${E2B_LABEL}=true` })) {
        all.push(...items.flatMap((item) => sandboxOf(item) ?? []));
      }
      // One that is starting has no state: its client does not know its ID yet. One that runs may not be Ready for a moment.
      const usable = all.filter((sandbox) =>
        (sandbox.sandboxName !== undefined || sandbox.state === "paused") && !isOver(sandbox, now())
      );
      const { page, hasMore } = pageOf(usable.filter((sandbox) => isWanted(sandbox, query)), query);
      return { page, hasMore, running: usable.filter(({ state }) => state === "running").length };
    },
    async connect(namespace, id, timeout) {
      const { found, isResumed } = await decided(namespace, id, async (found) => {
        const isResumed = found.state === "paused";
        const end = now() + Math.max(Math.min(timeout, LONGEST_S) * 1000, isResumed ? LEAST_RESUMED_MS : 0);
        // The end is set before the sandbox runs: if this process ends in between, it does not run for ever.
        if (isResumed || end > Date.parse(found.endAt)) await change(found, runningUntil(found, end));
        return { found, isResumed };
      });
      if (isResumed) await resume(found);
      else if (!found.isReady) await client.connect(found.id, { namespace, readyTimeoutMs: READY_MS });
      return { sandbox: await find(namespace, id), isResumed };
    },
    async setTimeout(namespace, id, timeout) {
      await decided(namespace, id, async (found) => {
        if (found.state === "paused") throw new Problem(409, `Sandbox "${id}" is paused: connect resumes it`);
        if (timeout > 0) await change(found, runningUntil(found, now() + Math.min(timeout, LONGEST_S) * 1000));
        else if (found.facts.onTimeout === "pause") await pause(namespace, id);
        else await kill(found);
      });
    },
    async extend(namespace, id, timeout) {
      await decided(namespace, id, async (found) => {
        const end = now() + Math.min(timeout, LONGEST_S) * 1000;
        if (found.state === "running" && end > Date.parse(found.endAt)) await change(found, runningUntil(found, end));
      });
    },
    pause,
    async setNetwork(namespace, id, { allow_internet_access, ...body }) {
      const found = await find(namespace, id);
      const reach = reachOf(body, allow_internet_access, "");
      const { template } = found.facts;
      const annotations = templates.get(namespace, template)?.annotations ?? {};
      checkReach(reach, { id: template, annotations });
      await change(found, { metadata: { annotations: annotationOf(reach) } });
    },
    kill: async (namespace, id) => await kill(await find(namespace, id)),
  };
}

/** Returns the fields of a request about a claim. */
function requestFor(namespace: string, name: string, verb: string) {
  const object = { kind: "SandboxClaim", namespace, name };
  return { path: pathOf({ resource: "sandboxclaims", namespace, name }), action: `${verb} sandbox ${name}`, object };
}

function factsOf({ templateID, autoPause }: CreateRequest, template: Template, timeout: number): CreatedFacts {
  const { id, cpuCount, memoryMB, diskSizeMB, keepsFiles } = template;
  const onTimeout = autoPause ? "pause" : "kill";
  return { template: id, alias: aliasOf(templateID), timeout, cpuCount, memoryMB, diskSizeMB, keepsFiles, onTimeout };
}

/** @throws {Problem} 400 if a pause would lose all files */
function checkFiles({ keepsFiles, template }: CreatedFacts): void {
  if (keepsFiles) return;
  throw new Problem(
    400,
    `Sandbox cannot be paused: template "${template}" has no volume, so that its files would be lost`,
  );
}

/** Returns the alias in the name of a template, without project and tag. */
function aliasOf(templateID: string): string {
  return templateID.replace(/^.*\//, "").replace(/:.*/, "");
}

function isWanted(sandbox: E2BSandbox, { metadata, states, startedAfter, template }: ListQuery): boolean {
  return states.has(sandbox.state) &&
    Object.entries(metadata).every(([key, value]) => sandbox.metadata[key] === value) &&
    (startedAfter === undefined || Date.parse(sandbox.startedAt) >= startedAfter) &&
    (template === undefined || sandbox.facts.template === template || sandbox.facts.alias === aliasOf(template));
}

function pageOf(sandboxes: E2BSandbox[], { order, limit, after }: ListQuery) {
  const sign = order === "asc" ? 1 : -1;
  const compare = (a: Place, b: Place) =>
    sign * (Date.parse(a.startedAt) - Date.parse(b.startedAt) || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0));
  const rest = sandboxes.sort(compare).filter((sandbox) => after === undefined || compare(sandbox, after) > 0);
  return { page: rest.slice(0, limit), hasMore: rest.length > limit };
}

type Place = Pick<E2BSandbox, "startedAt" | "id">;
