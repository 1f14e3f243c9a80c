/** Creates, finds, changes and ends the sandboxes of E2B's clients. Each is a claim, and nothing else is stored. @module */
import { randomBytes } from "node:crypto";
import * as z from "zod";
import { isIDOf, repeatedBytes, sandboxID, type Traits, traitsOf } from "../api/e2b/identity.ts";
import {
  CREATED_ANNOTATION,
  type CreatedFacts,
  createdSchema,
  E2B_LABEL,
  METADATA_ANNOTATION,
  PAUSED_AT_ANNOTATION,
} from "../api/e2b/objects.ts";
import { type SandboxClaim, sandboxClaimSchema } from "../api/sandboxclaim.ts";
import { type Api, pathOf, timeAt } from "../kube/api.ts";
import { pagesOf } from "../kube/requests.ts";
import { SandboxClient } from "../sdk/client.ts";
import { annotate } from "../sdk/control/change.ts";
import { readIfAny } from "../sdk/control/find.ts";
import { readinessOf } from "../sdk/control/readiness.ts";
import { ConflictError } from "../sdk/errors.ts";
import { noSandbox, Problem } from "./problem.ts";
import { type CreateRequest, type ListQuery, LONGEST_S } from "./requests.ts";
import type { Template, Templates } from "./templates.ts";

/** A sandbox of an E2B client. */
export interface E2BSandbox {
  id: string;
  namespace: string;
  /** UID of its claim. */
  uid: string;
  traits: Traits;
  facts: CreatedFacts;
  metadata: Record<string, string>;
  /** RFC 3339, as all times. */
  startedAt: string;
  /** When it ends or ended: the timeout, or the pause. */
  endAt: string;
  state: "running" | "paused";
  /** It can be used, or it is paused. Otherwise it is starting or ending. */
  isSettled: boolean;
}

/** The sandboxes of all projects. All calls throw a {@link Problem} or an error of the SDK. */
export interface E2BSandboxes {
  /**
   * Creates a sandbox, and waits until it can be used.
   *
   * @param defaultTimeout in seconds
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
  /** Resumes a paused sandbox. Of a running one, it can only extend the life. @param timeout in seconds from now */
  connect(namespace: string, id: string, timeout: number): Promise<{ sandbox: E2BSandbox; isResumed: boolean }>;
  /** Sets the end, in seconds from now; 0: at once. */
  setTimeout(namespace: string, id: string, timeout: number): Promise<void>;
  /** Extends the life: it ends at least this many seconds from now. */
  extend(namespace: string, id: string, timeout: number): Promise<void>;
  pause(namespace: string, id: string): Promise<void>;
  kill(namespace: string, id: string): Promise<void>;
}

/** How long a creation or a resume may take, in milliseconds: the SDKs wait for 60 s. */
const READY_MS = 50_000;

/** @param secrets the first makes new IDs, and all are accepted */
export function createSandboxes(
  api: Api,
  templates: Templates,
  secrets: () => readonly Uint8Array[],
): E2BSandboxes {
  const client = new SandboxClient({ api, connection: "direct" });
  const now = () => timeAt(api);

  async function find(namespace: string, asked: string): Promise<E2BSandbox> {
    // Older SDKs append the ID of the client.
    const id = asked.replace(/-.*/, "");
    // A name that is not an ID of this project is not looked up: it may be anything, such as a path.
    if (!isIDOf(secrets(), namespace, id)) throw noSandbox(asked);
    const claim = await readIfAny<SandboxClaim>(api, { kind: "SandboxClaim", namespace, name: id });
    const sandbox = claim && sandboxOf(claim);
    if (!sandbox || claim.metadata.deletionTimestamp !== undefined || isOver(sandbox, now())) throw noSandbox(asked);
    return sandbox;
  }

  function templateOf(namespace: string, name: string): Template {
    const template = templates.find(namespace, name);
    if (!template) {
      throw new Problem(404, `Template "${name}" was not found: GET /templates lists those of this project`);
    }
    return template;
  }

  async function repeated(namespace: string, id: string, digest: string): Promise<E2BSandbox> {
    const claim = await readIfAny<SandboxClaim>(api, { kind: "SandboxClaim", namespace, name: id });
    const sandbox = claim && sandboxOf(claim);
    if (!sandbox) throw new Problem(409, "The sandbox of this Idempotency-Key is ending: use another key");
    if (sandbox.facts.request !== digest) {
      throw new Problem(422, "Idempotency-Key has been used for another request", "idempotency_key_reused");
    }
    await client.connect(id, { namespace, readyTimeoutMs: READY_MS });
    return await find(namespace, id);
  }

  return {
    async create(namespace, body, defaultTimeout, request) {
      const template = templateOf(namespace, body.templateID);
      const timeout = body.timeout ?? defaultTimeout;
      if (body.autoPause) throw new Problem(501, "autoPause is not supported yet: the sandbox ends at its timeout");
      const traits = {
        isPublic: body.network?.allowPublicTraffic !== false,
        autoResume: body.autoResume?.enabled === true,
      };
      const [secret] = secrets() as [Uint8Array];
      const bytes = request ? repeatedBytes(secret, namespace, request.key) : randomBytes(16);
      const id = sandboxID(secret, namespace, traits, bytes);
      const facts: CreatedFacts = {
        template: template.id,
        alias: aliasOf(body.templateID),
        timeout,
        cpuCount: template.cpuCount,
        memoryMB: template.memoryMB,
        diskSizeMB: template.diskSizeMB,
        ...request ? { request: request.digest } : {},
      };
      try {
        await client.create({
          ...template.kind === "pool" ? { pool: template.id } : { template: template.id },
          name: id,
          namespace,
          labels: { [E2B_LABEL]: "true" },
          metadata: {
            [CREATED_ANNOTATION]: JSON.stringify(facts),
            [METADATA_ANNOTATION]: JSON.stringify(body.metadata ?? {}),
          },
          env: body.envVars ?? {},
          timeoutMs: timeout * 1000,
          readyTimeoutMs: READY_MS,
        });
      } catch (error) {
        if (request && error instanceof ConflictError) return await repeated(namespace, id, request.digest);
        throw error;
      }
      return await find(namespace, id);
    },
    get: find,
    async list(namespace, query) {
      const all: E2BSandbox[] = [];
      const path = pathOf({ resource: "sandboxclaims", namespace });
      for await (const { items } of pagesOf<object>(api, path, { labelSelector: `${E2B_LABEL}=true` })) {
        all.push(...items.flatMap((item) => {
          const claim = sandboxClaimSchema.safeParse(withKind(item)).data;
          const sandbox = claim?.metadata.deletionTimestamp === undefined ? claim && sandboxOf(claim) : undefined;
          return sandbox?.isSettled && !isOver(sandbox, now()) ? [sandbox] : [];
        }));
      }
      const { page, hasMore } = pageOf(all.filter((sandbox) => isWanted(sandbox, query)), query);
      return { page, hasMore, running: all.filter(({ state }) => state === "running").length };
    },
    async connect(namespace, id, timeout) {
      const found = await find(namespace, id);
      const isResumed = found.state === "paused";
      if (isResumed) {
        await client.resume(found.id, { namespace, readyTimeoutMs: READY_MS });
        await annotate(api, targetOf(found), { [PAUSED_AT_ANNOTATION]: "" });
      } else if (!found.isSettled) {
        await client.connect(found.id, { namespace, readyTimeoutMs: READY_MS });
      }
      if (isResumed || now() + timeout * 1000 > Date.parse(found.endAt)) {
        await client.setTimeout(found.id, Math.min(timeout, LONGEST_S) * 1000, { namespace });
      }
      return { sandbox: await find(namespace, id), isResumed };
    },
    async setTimeout(namespace, id, timeout) {
      const found = await find(namespace, id);
      if (found.state === "paused") throw new Problem(409, `Sandbox "${id}" is paused: connect resumes it`);
      if (timeout <= 0) await client.kill(found.id, { namespace });
      else await client.setTimeout(found.id, Math.min(timeout, LONGEST_S) * 1000, { namespace });
    },
    async extend(namespace, id, timeout) {
      const found = await find(namespace, id);
      const ms = Math.min(timeout, LONGEST_S) * 1000;
      if (now() + ms > Date.parse(found.endAt)) await client.setTimeout(found.id, ms, { namespace });
    },
    async pause(namespace, id) {
      const found = await find(namespace, id);
      if (found.state === "paused") throw new Problem(409, `Sandbox "${id}" is paused already`);
      throw new Problem(501, "pause is not supported yet");
    },
    async kill(namespace, id) {
      const found = await find(namespace, id);
      if (!await client.kill(found.id, { namespace })) throw noSandbox(id);
    },
  };
}

function targetOf({ namespace, id }: E2BSandbox) {
  return { kind: "SandboxClaim", namespace, name: id } as const;
}

function withKind(item: object): object {
  return { apiVersion: "extensions.agents.x-k8s.io/v1beta1", kind: "SandboxClaim", ...item };
}

/** Returns the alias in the name of a template, without project and tag. */
function aliasOf(templateID: string): string {
  return templateID.replace(/^.*\//, "").replace(/:.*/, "");
}

/** Reads a claim; undefined: no E2B client has created it. */
function sandboxOf(claim: SandboxClaim): E2BSandbox | undefined {
  const { name, namespace = "", uid = "", creationTimestamp = "", labels, annotations = {} } = claim.metadata;
  const traits = traitsOf(name);
  const facts = parsed(createdSchema, annotations[CREATED_ANNOTATION]);
  if (labels?.[E2B_LABEL] !== "true" || !traits || !facts) return undefined;
  const pausedAt = annotations[PAUSED_AT_ANNOTATION] || undefined;
  return {
    id: name,
    namespace,
    uid,
    traits,
    facts,
    metadata: parsed(z.record(z.string(), z.string()), annotations[METADATA_ANNOTATION]) ?? {},
    startedAt: creationTimestamp,
    endAt: pausedAt ?? claim.spec.lifecycle?.shutdownTime ?? FOR_EVER,
    state: pausedAt === undefined ? "running" : "paused",
    isSettled: pausedAt !== undefined || readinessOf(claim).state === "ready",
  };
}

/** The end of a sandbox whose end somebody else has removed. */
const FOR_EVER = "9999-12-31T23:59:59Z";

function parsed<T>(schema: z.ZodType<T>, text: string | undefined): T | undefined {
  try {
    return schema.safeParse(JSON.parse(text ?? "")).data;
  } catch {
    return undefined;
  }
}

/** Its time is over, although the claim may exist for a moment more. */
function isOver({ state, endAt }: E2BSandbox, now: number): boolean {
  return state === "running" && Date.parse(endAt) <= now;
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
