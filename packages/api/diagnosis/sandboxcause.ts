/** Why a Sandbox is not Ready, told from its conditions alone: what a pool's hook can see of its members. Pure. @module */
import type { Sandbox } from "../sandbox.ts";
import { findCondition } from "../objects/conditions.ts";
import { isQuotaExceeded } from "./refusal.ts";

/** Causes in order: of several Sandboxes' causes the first that some Sandbox has counts. */
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
export type SandboxCauseReason = (typeof SANDBOX_CAUSES)[number];

export interface SandboxCause {
  reason: SandboxCauseReason;
  /** In the words of the condition that says so. */
  detail: string;
}

/** Tells the cause; undefined: the conditions name none. To be asked of Sandboxes that are not Ready. */
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

/** Tells whether a node or a gate is what the Pod of a Sandbox waits for; undefined: neither. */
export function unscheduled({ status }: Sandbox): "Unschedulable" | "SchedulingGated" | undefined {
  const scheduled = findCondition(status?.conditions, "PodScheduled");
  if (scheduled?.status !== "False") return undefined;
  return (["Unschedulable", "SchedulingGated"] as const).find((reason) => reason === scheduled.reason);
}

/** Returns the member of a pool whose cause explains best why the pool is not full; undefined: all are Ready, or none is. */
export function worstMember(members: readonly Sandbox[]): Sandbox | undefined {
  const isReady = ({ status }: Sandbox) => findCondition(status?.conditions, "Ready")?.status === "True";
  const waiting = members.filter((member) => !isReady(member));
  const rank = (member: Sandbox) => {
    const found = sandboxCause(member);
    return found ? SANDBOX_CAUSES.indexOf(found.reason) : SANDBOX_CAUSES.length;
  };
  return waiting.toSorted((a, b) => rank(a) - rank(b) || (a.metadata.name < b.metadata.name ? -1 : 1))[0];
}
