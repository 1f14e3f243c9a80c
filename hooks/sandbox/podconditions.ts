/**
 * Computes the conditions of a Sandbox that depend on its Pod: Suspended, PodScheduled, Finished, PodOutdated and
 * ContainersFailing. @module
 */
import type {
  ContainersFailingReason,
  FinishedReason,
  PodOutdatedReason,
  PodScheduledReason,
  SuspendedReason,
} from "../../packages/api/sandbox.ts";
import { isTransient } from "../../packages/api/diagnosis/messages.ts";
import { type ConditionStatus, findCondition, type Verdict } from "../../packages/api/objects/conditions.ts";
import { conditionStatusSchema } from "../../packages/api/objects/schemas.ts";
import { type ContainerStatus, podCondition, podEnd } from "../../packages/api/objects/pods.ts";
import { isOutdated } from "./pod.ts";
import { isPodTaken, stuckPod, type View } from "./view.ts";

/**
 * Computes Suspended. Every Sandbox has this condition. Source: Agent Sandbox API, section 2.8.
 *
 * | mode | Pod | verdict |
 * |---|---|---|
 * | Running | any | False NotSuspended |
 * | Suspended | the Sandbox has several Pods | Unknown PodStateUnknown |
 * | Suspended | none | True PodTerminated |
 * | Suspended | a Pod with the Sandbox's name that belongs to another owner | False PodNotOwned |
 * | Suspended | its own, and the API server refuses to delete it | False PodDeletionRefused |
 * | Suspended | its own, and it still exists | False PodTerminating |
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

/**
 * Computes PodScheduled: the Pod's own condition, with its reason and message; undefined: the Sandbox has no Pod of its
 * own, so it has no such condition.
 */
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

/**
 * Computes Finished: True if the Pod has ended by itself; undefined: it has not, so the Sandbox has no such condition.
 */
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
 * Computes PodOutdated: True if the Pod was created from another spec than the Sandbox has now. The hook never changes
 * the spec of an existing Pod. Undefined: the Pod is up to date, so the Sandbox has no such condition.
 */
export function podOutdatedVerdict({ sandbox, pod }: View): Verdict<"PodOutdated", PodOutdatedReason> | undefined {
  if (!pod || sandbox.spec.operatingMode === "Suspended" || !isOutdated(sandbox, pod)) return undefined;
  const message = "The Pod was made from an earlier spec.podTemplate: it gets the current one when it is made anew " +
    "(hookbox restart)";
  return { type: "PodOutdated", status: "True", reason: "SpecChanged", message };
}

/** The kubelet's reasons for a waiting container, by our reason. */
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
 * Computes ContainersFailing: True while a container waits for something that does not happen by itself; undefined:
 * none does, so the Sandbox has no such condition. The kubelet alternates between several messages for one failure. To
 * avoid status writes, the first message stays as long as the reason is the same.
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
