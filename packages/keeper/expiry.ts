/** Deletes Sandboxes and claims that have expired, each with the preconditions that make it the very one that was judged. @module */
import type { Sandbox } from "../api/sandbox.ts";
import type { SandboxClaim } from "../api/sandboxclaim.ts";
import { type Expiring, expiryTime, isPublished, lifetimeOf } from "../api/expiry.ts";
import { answerError, type Api, isOk, type ObjectPath, pathOf, timeAt } from "../kube/api.ts";
import { type LossBudget, RETRY_SECONDS } from "../webhook/lossbudget.ts";
import type { ObjectMeta } from "../api/objects/objects.ts";
import type { Reconciler, Report } from "./reconciler.ts";

/** How the API server deletes: dependents afterwards, or dependents first. */
type Propagation = "Background" | "Foreground";

/** What to do about the expiry of an object; `until` is in milliseconds since the epoch. */
export type ExpiryVerdict =
  | { verdict: "keep" }
  | { verdict: "wait"; until: number }
  | { verdict: "delete"; propagation: Propagation };

/** What an object says of its expiry. */
interface Expiry {
  /** Reason of the Ready condition by which its hook publishes it. */
  reason: "ClaimExpired" | "SandboxExpired";
  /** When, by the spec, in milliseconds since the epoch; NaN: never. */
  until: number;
  /** Absent: its policy is to keep it. */
  propagation: Propagation | undefined;
}

/** Judges a Sandbox: `Delete` deletes it in the background. */
export function sandboxExpiryVerdict(sandbox: Sandbox, now: number): ExpiryVerdict {
  const { shutdownPolicy, shutdownTime = "" } = lifetimeOf(sandbox);
  const propagation = shutdownPolicy === "Delete" ? "Background" : undefined;
  return expiryVerdict(sandbox, { reason: "SandboxExpired", until: Date.parse(shutdownTime), propagation }, now);
}

/**
 * Judges a claim: `Delete` deletes it in the background, `DeleteForeground` once Sandbox and Pod have gone.
 * Source: Agent Sandbox API, section 3.5.6.
 */
export function claimExpiryVerdict(claim: SandboxClaim, now: number): ExpiryVerdict {
  const propagation = claimPropagation(claim.spec.lifecycle?.shutdownPolicy);
  return expiryVerdict(claim, { reason: "ClaimExpired", until: expiryTime(claim) ?? NaN, propagation }, now);
}

/**
 * Decides whether an object is deleted because it has expired: what its hook has published and its spec both say so.
 *
 * | published: Ready has the reason, of this generation | policy | time by this clock | verdict |
 * |---|---|---|---|
 * | no | any | any | keep |
 * | yes | Retain | any | keep |
 * | yes | any other | ahead: our clock is behind the hook's | wait |
 * | yes | any other | past | delete |
 * | yes | any other | absent, or no time | keep |
 *
 * One that is being deleted is kept, too: somebody else was first.
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

/** What was done about an object last. */
interface Done {
  /** The version that was dealt with. */
  resourceVersion?: string | undefined;
  /** It was to be deleted, and stays until then. */
  putOffUntil?: number;
}

/**
 * Makes the reconciler. It judges by the API server's clock, so that nothing is deleted early if the clock of this process is
 * ahead. Idempotent: if a process dies halfway, the next one finishes the rest.
 *
 * @param budget how much may be deleted: hook and keeper may share a clock that is wrong, and volumes go with a Sandbox
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
        memory.set(uid, { putOffUntil: now + RETRY_SECONDS * 1000 });
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
      // 409: it has changed since; the watch brings the new version, which is judged afresh.
      if (!isSettled && answer.status !== 409) throw answerError(`delete expired ${kind} ${namespace}/${name}`, answer);
      memory.set(uid, { resourceVersion });
      if (isOk(answer)) report("deleted", object.metadata, { propagation: decision.propagation });
    },
  };
}
