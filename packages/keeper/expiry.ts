/**
 * Deletes Sandboxes and claims that have expired. Preconditions ensure that only the version that was examined is
 * deleted.
 * @module
 */
import type { Sandbox } from "../api/sandbox.ts";
import type { SandboxClaim } from "../api/sandboxclaim.ts";
import { type Expiring, expiryTime, isPublished, lifetimeOf } from "../api/expiry.ts";
import { answerError, type Api, isOk, type ObjectPath, pathOf, timeAt } from "../kube/api.ts";
import { DEFERRED_RETRY_SECONDS, type LossBudget } from "../process/deletionbudget.ts";
import type { ObjectMeta } from "../api/objects/objects.ts";
import type { Reconciler } from "../kube/reconcilequeue.ts";
import type { Report } from "./reconciler.ts";

/** Propagation policy of a deletion: `Background` deletes dependents afterwards, `Foreground` deletes them first. */
type Propagation = "Background" | "Foreground";

/** What to do about the expiry of an object; `until` is in milliseconds since the epoch. */
export type ExpiryVerdict =
  | { verdict: "keep" }
  | { verdict: "wait"; until: number }
  | { verdict: "delete"; propagation: Propagation };

/** The expiry of an object according to its spec. */
interface Expiry {
  /** Reason of the Ready condition with which the hook publishes the expiry. */
  reason: "ClaimExpired" | "SandboxExpired";
  /** Time of expiry in milliseconds since the epoch; NaN: never. */
  until: number;
  /** Absent: the policy is to retain the object. */
  propagation: Propagation | undefined;
}

/** Decides about a Sandbox. The policy `Delete` deletes it in the background. */
export function sandboxExpiryVerdict(sandbox: Sandbox, now: number): ExpiryVerdict {
  const { shutdownPolicy, shutdownTime = "" } = lifetimeOf(sandbox);
  const propagation = shutdownPolicy === "Delete" ? "Background" : undefined;
  return expiryVerdict(sandbox, { reason: "SandboxExpired", until: Date.parse(shutdownTime), propagation }, now);
}

/**
 * Decides about a claim. The policy `Delete` deletes it in the background, `DeleteForeground` after its Sandbox and Pod
 * are gone. Source: Agent Sandbox API, section 3.5.6.
 */
export function claimExpiryVerdict(claim: SandboxClaim, now: number): ExpiryVerdict {
  const propagation = claimPropagation(claim.spec.lifecycle?.shutdownPolicy);
  return expiryVerdict(claim, { reason: "ClaimExpired", until: expiryTime(claim) ?? NaN, propagation }, now);
}

/**
 * Decides whether to delete an object because it has expired. Both the spec and the condition that the hook has
 * published must show the expiry.
 *
 * | published: Ready has the reason, for this generation | policy | time by this clock | verdict |
 * |---|---|---|---|
 * | no | any | any | keep |
 * | yes | Retain | any | keep |
 * | yes | any other | in the future: our clock is behind the hook's | wait |
 * | yes | any other | in the past | delete |
 * | yes | any other | absent, or not a time | keep |
 *
 * An object that is already being deleted is kept, too.
 */
function expiryVerdict(object: Expiring, { reason, until, propagation }: Expiry, now: number): ExpiryVerdict {
  const isBeingDeleted = object.metadata.deletionTimestamp !== undefined;
  if (isBeingDeleted || !propagation || Number.isNaN(until) || !isPublished(object, reason)) return { verdict: "keep" };
  return until > now ? { verdict: "wait", until } : { verdict: "delete", propagation };
}

function claimPropagation(policy: string | undefined): Propagation | undefined {
  if (policy === "Delete") return "Background";
  return policy === "DeleteForeground" ? "Foreground" : undefined;
}

/** A kind whose objects expire. */
interface ExpiringKind<T> {
  kind: string;
  resource: ObjectPath["resource"];
  judge(object: T, now: number): ExpiryVerdict;
}

/** What was last done about an object. */
interface Done {
  /** The version that was handled. */
  resourceVersion?: string | undefined;
  /** The deletion was deferred until this time. */
  putOffUntil?: number;
}

/**
 * Creates the reconciler. It uses the API server's clock, so that an object is not deleted early if the clock of this
 * process is ahead. It is idempotent: if a process dies halfway, the next one finishes the work.
 *
 * @param budget limits the deletions: hook and keeper may share a clock that is wrong, and volumes are deleted with a
 *   Sandbox
 */
export function expiryReconciler<T extends { metadata: ObjectMeta }>(
  api: Api,
  report: Report,
  budget: LossBudget,
  { kind, resource, judge }: ExpiringKind<T>,
): Reconciler<T> {
  const memory = new Map<string, Done>();
  return {
    name: `expiry of ${kind}`,
    memory,
    listing: () => memory.clear(),
    dueAt(object, now) {
      const { uid = "", resourceVersion } = object.metadata;
      const ahead = timeAt(api) - now;
      const decision = judge(object, now + ahead);
      const done = memory.get(uid);
      if (decision.verdict === "keep" || (done && done.resourceVersion === resourceVersion)) return undefined;
      return decision.verdict === "wait" ? decision.until - ahead : done?.putOffUntil ?? now;
    },
    async reconcile(object, now) {
      const decision = judge(object, timeAt(api));
      if (decision.verdict !== "delete") return;
      const { namespace = "", name, uid = "", resourceVersion } = object.metadata;
      if (budget.spend(namespace, [uid]).has(uid)) {
        if (!memory.get(uid)?.putOffUntil) report("deletion put off", object.metadata, {});
        memory.set(uid, { putOffUntil: now + DEFERRED_RETRY_SECONDS * 1000 });
        return;
      }
      const path = pathOf({ resource, namespace, name });
      const body = {
        apiVersion: "v1",
        kind: "DeleteOptions",
        preconditions: { uid, resourceVersion },
        propagationPolicy: decision.propagation,
      };
      const answer = await api.send({ method: "DELETE", path, body });
      const isSettled = isOk(answer) || answer.status === 404;
      // 409: the object has changed. The watch shows the new version, which is examined again.
      if (!isSettled && answer.status !== 409) throw answerError(`delete expired ${kind} ${namespace}/${name}`, answer);
      memory.set(uid, { resourceVersion });
      if (isOk(answer)) report("deleted", object.metadata, { propagation: decision.propagation });
    },
  };
}
