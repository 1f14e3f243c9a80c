/** The conditions Suspended, PodScheduled and Finished of a Sandbox: what has become of its Pod. @module */
import type { FinishedReason, PodScheduledReason, SuspendedReason } from "../../api/sandbox.ts";
import { type ConditionStatus, conditionStatusSchema, type Verdict } from "../../lib/conditions.ts";
import { podCondition, podEnd } from "../../lib/pods.ts";
import { isPodTaken, type View } from "./view.ts";

/**
 * Decides Suspended, which is always there. Source: Agent Sandbox API, section 2.8.
 *
 * | mode | Pod | verdict |
 * |---|---|---|
 * | Running | any | False NotSuspended |
 * | Suspended | more than one is ours | Unknown PodStateUnknown |
 * | Suspended | none | True PodTerminated |
 * | Suspended | a foreign one of our name | False PodNotOwned |
 * | Suspended | ours, still there | False PodTerminating |
 */
export function suspendedVerdict(view: View): Verdict<"Suspended", SuspendedReason> {
  const verdict = (status: ConditionStatus, reason: SuspendedReason, message: string) =>
    ({ type: "Suspended", status, reason, message }) as const;
  if (view.sandbox.spec.operatingMode === "Running") {
    return verdict("False", "NotSuspended", "Sandbox is not suspended");
  }
  if (view.pods.length > 1) {
    return verdict("Unknown", "PodStateUnknown", "Pod state is unknown. Sandbox suspension cannot be confirmed");
  }
  if (view.pod) return verdict("False", "PodTerminating", "Pod is terminating. Sandbox is suspending");
  if (isPodTaken(view)) {
    return verdict("False", "PodNotOwned", "Refused to delete pod because it is not owned by this sandbox");
  }
  return verdict("True", "PodTerminated", "Pod has been terminated. Sandbox is suspended");
}

/** Decides PodScheduled: the Pod's own, word for word; undefined (no such condition) where no Pod is ours. */
export function podScheduledVerdict(view: View): Verdict<"PodScheduled"> | undefined {
  const unknown = (message: string) =>
    verdictOf("Unknown", "PodSchedulingUnknown" satisfies PodScheduledReason, message);
  if (view.pods.length > 1 || isPodLookupFailed(view)) {
    return unknown("Pod state is unknown. Pod scheduling cannot be determined");
  }
  if (!view.pod) return undefined;
  const reported = podCondition(view.pod, "PodScheduled");
  if (!reported) return unknown("Pod has not reported a PodScheduled condition yet");
  const status = conditionStatusSchema.safeParse(reported.status).data ?? "Unknown";
  const fallback: PodScheduledReason = status === "True" ? "PodScheduled" : "PodSchedulingUnknown";
  return verdictOf(status, reported.reason || fallback, reported.message ?? "");
}

/** Decides Finished: True once the Pod has ended by itself; undefined (no such condition) otherwise. */
export function finishedVerdict({ pod }: View): Verdict<"Finished", FinishedReason> | undefined {
  const end = pod && podEnd(pod);
  if (end === "Succeeded") {
    return { type: "Finished", status: "True", reason: "PodSucceeded", message: "Pod completed successfully" };
  }
  if (end === "Failed") return { type: "Finished", status: "True", reason: "PodFailed", message: "Pod failed" };
  return undefined;
}

function isPodLookupFailed(view: View): boolean {
  return view.sandbox.spec.operatingMode === "Running" && isPodTaken(view);
}

function verdictOf(status: ConditionStatus, reason: string, message: string): Verdict<"PodScheduled"> {
  return { type: "PodScheduled", status, reason, message };
}
