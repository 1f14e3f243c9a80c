/** The condition ContainersFailing of a Sandbox: what its Pod waits for, and will go on waiting for. @module */
import type { ContainersFailingReason } from "../../api/sandbox.ts";
import { findCondition, type Verdict } from "../../lib/conditions.ts";
import { isPassing } from "../../diagnosis/passing.ts";
import type { ContainerStatus } from "../../lib/pods.ts";
import type { View } from "./view.ts";

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
  if (isPassing(state?.waiting?.message ?? "")) return undefined;
  const reasons = Object.keys(WAITING) as ContainersFailingReason[];
  return reasons.find((reason) => WAITING[reason].includes(waiting));
}

function wordsOf({ state }: ContainerStatus): string {
  return state?.waiting?.message || state?.waiting?.reason || "";
}
