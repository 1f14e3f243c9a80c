/**
 * Finds the reason why a Sandbox is not Ready, from its conditions only: a pool's hook sees no more of its members.
 * @module
 */
import type { Sandbox } from "../sandbox.ts";
import { findCondition } from "../objects/conditions.ts";
import { isQuotaExceeded } from "./messages.ts";

/** Causes in order of precedence. For several Sandboxes, the first cause in this list that one of them has counts. */
export const SANDBOX_CAUSES = [
  "InvalidConfiguration",
  "QuotaExceeded",
  "ChildrenRefused",
  "ImagePullFailed",
  "ContainersFailing",
  "SchedulingGated",
  "Unschedulable",
  "PodsFinished",
] as const;
type SandboxCauseReason = (typeof SANDBOX_CAUSES)[number];

export interface SandboxCause {
  reason: SandboxCauseReason;
  /** The message of the condition that shows the cause. */
  detail: string;
}

/** Returns the cause; undefined: the conditions show none. Call it only for Sandboxes that are not Ready. */
export function sandboxCause(sandbox: Sandbox): SandboxCause | undefined {
  const conditions = sandbox.status?.conditions;
  const ready = findCondition(conditions, "Ready");
  const failing = findCondition(conditions, "ContainersFailing");
  const finished = findCondition(conditions, "Finished");
  const waiting = unscheduled(sandbox);
  if (ready?.reason === "InvalidConfiguration") return { reason: "InvalidConfiguration", detail: ready.message };
  if (ready?.reason === "ReconcilerError") {
    return { reason: isQuotaExceeded(ready.message) ? "QuotaExceeded" : "ChildrenRefused", detail: ready.message };
  }
  if (failing) {
    const reason = failing.reason === "ImagePullFailed" ? "ImagePullFailed" : "ContainersFailing";
    return { reason, detail: failing.message };
  }
  if (waiting) {
    return { reason: waiting, detail: findCondition(conditions, "PodScheduled")?.message || "no node takes it" };
  }
  return finished?.status === "True" ? { reason: "PodsFinished", detail: finished.message } : undefined;
}

/** Returns whether the Pod of a Sandbox waits for a node or for a scheduling gate; undefined: for neither. */
export function unscheduled({ status }: Sandbox): "Unschedulable" | "SchedulingGated" | undefined {
  const scheduled = findCondition(status?.conditions, "PodScheduled");
  if (scheduled?.status !== "False") return undefined;
  return (["Unschedulable", "SchedulingGated"] as const).find((reason) => reason === scheduled.reason);
}

/**
 * Returns the member that best explains why its pool is not full; undefined: all members are Ready, or there are none.
 */
export function worstMember(members: readonly Sandbox[]): Sandbox | undefined {
  const isReady = ({ status }: Sandbox) => findCondition(status?.conditions, "Ready")?.status === "True";
  const waiting = members.filter((member) => !isReady(member));
  const rank = (member: Sandbox) => {
    const found = sandboxCause(member);
    return found ? SANDBOX_CAUSES.indexOf(found.reason) : SANDBOX_CAUSES.length;
  };
  return waiting.toSorted((a, b) => rank(a) - rank(b) || (a.metadata.name < b.metadata.name ? -1 : 1))[0];
}
