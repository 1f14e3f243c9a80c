/**
 * Requeues claims whose status is wrong because Metacontroller has not called their hook. The keeper does not write to
 * claims: it annotates the claim's Sandbox, and Metacontroller syncs the claim when its Sandbox changes.
 * @module
 */
import { readyCondition } from "../../hooks/sandboxclaim/status.ts";
import { isMetadataConflict } from "../api/claims/podmetadata.ts";
import { isRefusedWrite } from "../api/keeperreports.ts";
import { expiryTime, isPublished } from "../api/expiry.ts";
import { type Condition, findCondition } from "../api/objects/conditions.ts";
import { WOKEN_AT_ANNOTATION } from "../api/objects/keys.ts";
import type { ObjectMeta } from "../api/objects/objects.ts";
import type { Sandbox } from "../api/sandbox.ts";
import type { SandboxClaim } from "../api/sandboxclaim.ts";
import { type Api, timeAt } from "../kube/api.ts";
import { patchOf, sendPatch } from "../kube/requests.ts";
import { createStore } from "../kube/store.ts";
import type { EventHandler } from "../kube/watch.ts";
import { createProgress, type Progress, type Waited } from "./progress.ts";
import { extensionOwner } from "./readopt.ts";
import type { ReconcileQueue, Reconciler } from "../kube/reconcilequeue.ts";
import { wakeTime, wokenAt } from "./wake.ts";

/** After a hook has recovered, a claim that was requeued shortly before may still be handled for so long. */
const ANSWER_MS = 6000;

/** The projection of a claim whose status names a Sandbox. */
interface BoundClaim {
  metadata: ObjectMeta;
  /** Name of its Sandbox, in the same namespace. */
  sandbox: string;
  /** Status and reason of Ready. */
  ready: string;
  /** The Pod's addresses, separated by commas. */
  podIPs: string;
  /** Everything that the hook reports and that is compared here. If it changes, the hook has been called. */
  report: string;
  /** Whether the status is of an older generation of the spec. */
  isBehind: boolean;
  /** Whether Ready reports a problem that only the hook can see. */
  hasProblem: boolean;
  /** When the claim expires by its spec, in milliseconds since the epoch; Infinity: never. */
  expiry: number;
  isExpiryReported: boolean;
}

/** The projection of a Sandbox that a claim controls. */
interface ControlledSandbox {
  /** With the version, and of the annotations only the one that requeues. */
  metadata: ObjectMeta;
  /** UID of the claim. */
  claim: string;
  /** Status and reason of Ready that the claim must report, unless it has expired or has a problem. */
  ready: string;
  podIPs: string;
}

/** A bound claim with its Sandbox. `metadata` is the claim's. */
export interface ClaimPair {
  metadata: ObjectMeta;
  claim: BoundClaim;
  sandbox: ControlledSandbox;
}

/** What the reconciler remembers of a claim that waits, or that expires later. */
interface Known extends Waited {
  /** Another key begins another wait. */
  key: string;
  /** What the claim reported when it began to wait. */
  report: string;
  /** The version of the Sandbox that was annotated. */
  done?: string | undefined;
}

/** Matches claims with their Sandboxes, whichever watch is ahead, and requeues the claims that wait for their hook. */
export interface ClaimRequeueing {
  claims: EventHandler<SandboxClaim>;
  sandboxes: EventHandler<Sandbox>;
}

/**
 * Creates the two event handlers. A claim is requeued, at growing intervals, if one of these states lasts for six
 * seconds and other claims show that Metacontroller's queue has forgotten it:
 *
 * - its status or the reason of Ready, or the Pod's addresses, differ from those of its Sandbox
 * - its status is of an older generation
 * - it has expired by the API server's clock, and does not report this
 *
 * If the hook answers again after it did not, all waiting claims are requeued once more.
 *
 * @param createQueue creates the queue of the reconciler
 */
export function claimRequeueing(
  api: Api,
  createQueue: (reconciler: Reconciler<ClaimPair>) => ReconcileQueue<ClaimPair>,
): ClaimRequeueing {
  const claims = createStore({ keep: (claim: BoundClaim) => claim });
  const sandboxes = createStore({ keep: (sandbox: ControlledSandbox) => sandbox });
  const pairOf = (claim: BoundClaim | undefined): ClaimPair | undefined => {
    if (!claim) return undefined;
    const { metadata } = claim;
    const sandbox = sandboxes.get(metadata.namespace, claim.sandbox);
    return sandbox && sandbox.claim === metadata.uid ? { metadata, claim, sandbox } : undefined;
  };
  const reconciler = claimWakeReconciler(api, () => {
    for (const [uid, { began }] of [...reconciler.memory]) {
      const pair = began <= timeAt(api) ? pairOf(claims.byUid(uid)) : undefined;
      if (pair) queue.requeue({ metadata: pair.metadata, whole: pair });
    }
  });
  const queue = createQueue(reconciler);
  const examine = (uid = "") => {
    const pair = pairOf(claims.byUid(uid));
    if (pair) queue.observe(pair);
    else queue.gone(uid);
  };
  claims.onChange((before, after) => examine((after ?? before)?.metadata.uid));
  sandboxes.onChange((before, after) => {
    if (before && before.claim !== after?.claim) examine(before.claim);
    if (after) examine(after.claim);
  });
  const handlerOf = <T extends { metadata: ObjectMeta }, Kept>(
    store: Pick<EventHandler<Kept>, "observe" | "gone">,
    keep: (object: T) => Kept | undefined,
  ): EventHandler<T> => ({
    listing: () => queue.listing?.(),
    observe(object) {
      const kept = keep(object);
      if (kept) store.observe(kept);
      else store.gone(object.metadata.uid ?? "");
    },
    gone: (uid) => store.gone(uid),
  });
  return { claims: handlerOf(claims, boundClaim), sandboxes: handlerOf(sandboxes, controlledSandbox) };
}

/**
 * Creates the reconciler. All times are the API server's, except those that the queue passes and gets.
 *
 * @param onRecovery called when the hook answers again, after claims were requeued in vain
 */
function claimWakeReconciler(api: Api, onRecovery: () => void): Reconciler<ClaimPair> & { memory: Map<string, Known> } {
  const memory = new Map<string, Known>();
  let progress: Progress | undefined;
  return {
    name: "waking of SandboxClaim",
    memory,
    listing() {
      for (const known of memory.values()) known.done = undefined;
    },
    dueAt(pair, localNow) {
      const now = timeAt(api);
      const ahead = now - localNow;
      const { metadata: { uid = "" }, claim: { report, expiry }, sandbox: { metadata } } = pair;
      progress ??= createProgress(now);
      const known = memory.get(uid);
      // The difference alone may also end because the Sandbox has changed back, without a call of the hook.
      if (known && known.began <= now && known.report !== report) {
        const before = progress.recoveredAt();
        progress.answered(known, now);
        // Later, because the queue must not be entered again from here.
        if (progress.recoveredAt() !== before) queueMicrotask(onRecovery);
      }
      const thing = thingOf(pair, now);
      if (!thing) {
        memory.delete(uid);
        return undefined;
      }
      const isExpiry = thing === "expiry";
      const key = `${thing} ${report} ${isExpiry ? expiry : ""}`;
      const began = known?.key === key ? known.began : isExpiry ? Math.max(now, expiry) : now;
      const wait = { for: thing, key, report, began, done: known?.done };
      memory.set(uid, wait);
      if (wait.done !== undefined && wait.done === metadata.resourceVersion) return undefined;
      const due = dueTime(metadata, began, progress.recoveredAt());
      const time = due > now ? due : Math.max(due, progress.wakeableFrom(wait));
      // What it waits for changes at its expiry.
      return (isExpiry || expiry <= now ? time : Math.min(time, expiry)) - ahead;
    },
    async reconcile({ metadata: { uid = "" }, sandbox: { metadata } }) {
      const annotations = { [WOKEN_AT_ANNOTATION]: new Date(timeAt(api)).toISOString() };
      await sendPatch(api, { kind: "Sandbox", resource: "sandboxes", metadata }, patchOf(metadata, { annotations }));
      const known = memory.get(uid);
      if (!known) return;
      progress?.woken(known, timeAt(api));
      memory.set(uid, { ...known, done: metadata.resourceVersion });
    },
  };
}

/** Returns what a claim waits for; undefined: for nothing. A claim that is correct now may wait for its expiry. */
function thingOf({ claim, sandbox }: ClaimPair, now: number): Waited["for"] | undefined {
  if (claim.isExpiryReported) return undefined;
  if (claim.expiry <= now) return "expiry";
  if (claim.isBehind) return "status of the generation";
  const isReadyWrong = claim.ready !== sandbox.ready && !claim.hasProblem;
  if (isReadyWrong || claim.podIPs !== sandbox.podIPs) return "state of the Sandbox";
  return claim.expiry < Infinity ? "expiry" : undefined;
}

/** Returns the next time to requeue a claim. If the hook has recovered since the last time, it is soon. */
function dueTime(metadata: ObjectMeta, began: number, recoveredAt: number): number {
  const planned = wakeTime(metadata, began);
  const woken = wokenAt(metadata);
  return woken >= began && woken < recoveredAt ? Math.min(planned, woken + ANSWER_MS) : planned;
}

/**
 * Returns the projection of a claim; undefined: it cannot wait for its hook, because it is not bound or is being
 * deleted.
 */
function boundClaim(claim: SandboxClaim): BoundClaim | undefined {
  const { metadata: { namespace, name, uid, generation = 0, deletionTimestamp }, status } = claim;
  const sandbox = status?.sandbox?.name;
  if (!sandbox || deletionTimestamp !== undefined) return undefined;
  const condition = findCondition(status?.conditions, "Ready");
  const ready = readyText(condition);
  const podIPs = status?.sandbox?.podIPs?.join() ?? "";
  const { reason = "", message = "", observedGeneration } = condition ?? {};
  return {
    metadata: { namespace, name, uid },
    sandbox,
    ready,
    podIPs,
    report: `${ready} ${observedGeneration} ${podIPs}`,
    isBehind: (observedGeneration ?? Infinity) < generation,
    hasProblem: reason === "InvalidMetadata" || isMetadataConflict(message) || isRefusedWrite(message),
    expiry: expiryTime(claim) ?? Infinity,
    isExpiryReported: isPublished(claim, "ClaimExpired"),
  };
}

/**
 * Returns the projection of a Sandbox; undefined: no claim controls it, it is being deleted, or it has no Ready
 * condition. Without the condition, the hook reports nothing.
 */
function controlledSandbox(sandbox: Sandbox): ControlledSandbox | undefined {
  const { metadata, status } = sandbox;
  const owner = extensionOwner(metadata);
  if (owner?.kind !== "SandboxClaim" || metadata.deletionTimestamp !== undefined) return undefined;
  if (!findCondition(status?.conditions, "Ready")) return undefined;
  const { namespace, name, uid, resourceVersion } = metadata;
  const woken = metadata.annotations?.[WOKEN_AT_ANNOTATION];
  // Status and reason do not depend on the claim.
  const situation = { claim: { metadata: { name } }, sandbox, isExpired: false, problem: undefined };
  return {
    metadata: {
      namespace,
      name,
      uid,
      resourceVersion,
      ...(woken === undefined ? {} : { annotations: { [WOKEN_AT_ANNOTATION]: woken } }),
    },
    claim: owner.uid,
    ready: readyText(readyCondition(situation, new Date(0))),
    podIPs: status?.podIPs?.join() ?? "",
  };
}

function readyText(ready: Condition | undefined): string {
  return ready ? `${ready.status} ${ready.reason}` : "";
}
