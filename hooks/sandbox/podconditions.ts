/** The conditions of a Sandbox that its Pod decides: Suspended, PodScheduled, Finished, PodOutdated, and ContainersFailing, which says what the Pod waits for in vain. @module */
import type {
  ContainersFailingReason,
  FinishedReason,
  PodOutdatedReason,
  PodScheduledReason,
  SuspendedReason,
} from "../../packages/api/sandbox.ts";
import { isTransient } from "../../packages/api/diagnosis/transient.ts";
import {
  type ConditionStatus,
  conditionStatusSchema,
  findCondition,
  type Verdict,
} from "../../packages/api/objects/conditions.ts";
import { type ContainerStatus, podCondition, podEnd } from "../../packages/api/objects/pods.ts";
import { isOutdated } from "./pod.ts";
import { isPodTaken, stuckPod, type View } from "./view.ts";

/**
 * Decides Suspended, which is always there. Source: Agent Sandbox API, section 2.8.
 *
 * | mode | Pod | verdict |
 * |---|---|---|
 * | Running | any | False NotSuspended |
 * | Suspended | more than one is ours | Unknown PodStateUnknown |
 * | Suspended | none | True PodTerminated |
 * | Suspended | a foreign one of our name | False PodNotOwned |
 * | Suspended | ours, and the API server refuses to delete it | False PodDeletionRefused |
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
  const stuck = stuckPod(view);
  if (stuck !== undefined) return verdict("False", "PodDeletionRefused", `Sandbox cannot be suspended: ${stuck}`);
  if (view.pod) return verdict("False", "PodTerminating", "Pod is terminating. Sandbox is suspending");
  if (isPodTaken(view)) {
    return verdict("False", "PodNotOwned", "Refused to delete pod because it is not owned by this sandbox");
  }
  return verdict("True", "PodTerminated", "Pod has been terminated. Sandbox is suspended");
}

/** Decides PodScheduled: the Pod's own, word for word where a condition may have such words; undefined (no such condition) where no Pod is ours. */
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

/**
 * Decides PodOutdated: True while the Pod was made from another spec than the Sandbox has now, which no live Pod is changed
 * to; undefined (no such condition) otherwise.
 */
export function podOutdatedVerdict({ sandbox, pod }: View): Verdict<"PodOutdated", PodOutdatedReason> | undefined {
  if (!pod || sandbox.spec.operatingMode === "Suspended" || !isOutdated(sandbox, pod)) return undefined;
  const message = "The Pod was made from an earlier spec.podTemplate: it gets the current one when it is made anew " +
    "(hookbox restart)";
  return { type: "PodOutdated", status: "True", reason: "SpecChanged", message };
}

/** What the kubelet says of a waiting container, for each of our reasons. */
const WAITING: Record<ContainersFailingReason, string[]> = {
  ImagePullFailed: [
    "ErrImagePull",
    "ImagePullBackOff",
    "InvalidImageName",
    "ErrImageNeverPull",
    "ImageInspectError",
    "RegistryUnavailable",
  ],
  ContainerCreationFailed: ["CreateContainerConfigError", "CreateContainerError", "RunContainerError"],
  ContainerCrashing: ["CrashLoopBackOff"],
};

/**
 * Decides ContainersFailing: True while a container waits for what does not come by itself; undefined (no such
 * condition) otherwise. The kubelet words the same failure in turns: the first words stay while the reason does.
 */
export function containersFailingVerdict({ pod, sandbox }: View): Verdict<"ContainersFailing"> | undefined {
  const statuses = [...(pod?.status?.initContainerStatuses ?? []), ...(pod?.status?.containerStatuses ?? [])];
  const failing = statuses.map((status) => ({ status, reason: reasonOf(status) })).find(({ reason }) => reason);
  if (!failing?.reason) return undefined;
  const { status, reason } = failing;
  const before = findCondition(sandbox.status?.conditions, "ContainersFailing");
  const message = before?.reason === reason ? before.message : `Container "${status.name}": ${wordsOf(status)}`;
  return { type: "ContainersFailing", status: "True", reason, message };
}

function reasonOf({ state }: ContainerStatus): ContainersFailingReason | undefined {
  const waiting = state?.waiting?.reason ?? "";
  if (isTransient(state?.waiting?.message ?? "")) return undefined;
  const reasons = Object.keys(WAITING) as ContainersFailingReason[];
  return reasons.find((reason) => WAITING[reason].includes(waiting));
}

function wordsOf({ state }: ContainerStatus): string {
  return state?.waiting?.message || state?.waiting?.reason || "";
}
