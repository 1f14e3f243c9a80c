/**
 * Pauses sandboxes whose time is over, and finishes pauses and resumes. All replicas do it: what the claim says decides,
 * and two writes of the same have the result of one.
 * @module
 */
import { E2B_LABEL, PAUSED_AT_ANNOTATION } from "../api/e2b/objects.ts";
import type { ObjectMeta } from "../api/objects/objects.ts";
import { type Api, pathOf } from "../kube/api.ts";
import { createReconcileQueue, type Reconciler } from "../kube/reconcilequeue.ts";
import { listAndWatch, type WatchOptions } from "../kube/watch.ts";
import { type Clock, systemClock } from "../process/clock.ts";
import { callAPI } from "../sdk/control/kube.ts";
import { ConflictError, SandboxNotFoundError } from "../sdk/errors.ts";
import { ownSandbox } from "./ownsandbox.ts";
import type { Following } from "./following.ts";
import { type E2BSandbox, pausedSince, runningUntil, sandboxOf } from "./claim.ts";

/** Least time that a sandbox runs after a request has resumed it, in seconds. Source: E2B's server. */
const LEAST_RESUMED_S = 300;

/**
 * Suspends the Sandbox of a paused claim, and notes in it which pause that was.
 *
 * @throws {SandboxError} if the API server refuses; not if the claim has no Sandbox yet
 */
export async function suspendPaused(api: Api, sandbox: E2BSandbox, pausedAt: string): Promise<void> {
  const own = (await ownSandbox(api, sandbox))?.metadata;
  if (!own) return;
  const { namespace = "", name } = own;
  await callAPI(api, {
    method: "PATCH",
    path: pathOf({ resource: "sandboxes", namespace, name }),
    action: `suspend sandbox ${name}`,
    object: { kind: "Sandbox", namespace, name },
    body: { metadata: { annotations: { [PAUSED_AT_ANNOTATION]: pausedAt } }, spec: { operatingMode: "Suspended" } },
  });
}

/** A claim, with its metadata for the queue. */
export interface Watched {
  metadata: ObjectMeta;
  /** As the API server shows it. */
  object: object;
  sandbox: E2BSandbox;
}

/**
 * Watches the claims of E2B's clients in all namespaces, and acts on them until `signal` fires.
 *
 * @param following is shown what the watch shows
 */
export async function keepPauses(
  api: Api,
  options: WatchOptions,
  following: Following<Watched>,
  clock: Clock = systemClock,
): Promise<void> {
  const queue = createReconcileQueue(createPauses(api), { log: options.log, clock }, options.signal);
  await listAndWatch(
    api,
    {
      path: pathOf({ resource: "sandboxclaims" }),
      query: { labelSelector: `${E2B_LABEL}=true` },
      parse: (object) => {
        const sandbox = sandboxOf(object as object);
        return sandbox && { metadata: (object as Watched).metadata, object: object as object, sandbox };
      },
    },
    following.handler(queue),
    options,
  );
}

/**
 * Creates the reconciler.
 *
 * | claim | Sandbox | action |
 * |---|---|---|
 * | running, pauses at its timeout, which is over | | the claim becomes paused |
 * | paused, and shows that the Sandbox is suspended | | none |
 * | any other paused | Running, and it notes this pause: somebody has resumed it | the claim becomes running, with a new end |
 * | any other paused | Running, and it does not: the pause is not complete | the Sandbox is suspended |
 * | any other | | none |
 *
 * Whether the claim is Ready does not count: code in the sandbox can make its Pod unready, and would then run for ever.
 */
function createPauses(api: Api): Reconciler<Watched> {
  const change = async ({ namespace, id }: E2BSandbox, body: object) => {
    await callAPI(api, {
      method: "PATCH",
      path: pathOf({ resource: "sandboxclaims", namespace, name: id }),
      action: `pause or resume sandbox ${id}`,
      object: { kind: "SandboxClaim", namespace, name: id },
      body,
    });
  };
  /** Version of each claim on which everything has been done. */
  const memory = new Map<string, string>();
  const reconcile = async (sandbox: E2BSandbox, now: number) => {
    const { pausedAt, facts } = sandbox;
    if (pausedAt === undefined) return await change(sandbox, pausedSince(sandbox, new Date(now).toISOString()));
    const own = await ownSandbox(api, sandbox);
    if (!own) return;
    const { metadata, spec } = own;
    if (spec.operatingMode === "Suspended") return;
    if (metadata.annotations?.[PAUSED_AT_ANNOTATION] !== pausedAt) return await suspendPaused(api, sandbox, pausedAt);
    await change(sandbox, runningUntil(sandbox, now + Math.max(facts.timeout, LEAST_RESUMED_S) * 1000));
  };
  return {
    name: "e2b pauses",
    memory,
    listing: () => memory.clear(),
    dueAt({ sandbox: { uid, version, pausedAt, isSuspended, facts, endAt } }, now) {
      if (memory.get(uid) === version) return undefined;
      if (pausedAt !== undefined) return isSuspended ? undefined : now;
      return facts.onTimeout === "pause" ? Date.parse(endAt) : undefined;
    },
    async reconcile({ sandbox }, now) {
      try {
        await reconcile(sandbox, now);
      } catch (error) {
        // It has changed in the meantime, and its event follows; or it is gone.
        if (!(error instanceof ConflictError || error instanceof SandboxNotFoundError)) throw error;
      }
      memory.set(sandbox.uid, sandbox.version);
    },
  };
}
