/**
 * Computes the Ready condition of a Sandbox. The rules are in order of precedence: the first rule that applies decides.
 * @module
 */
import type { ReadyReason } from "../../packages/api/sandbox.ts";
import { lifetimeOf } from "../../packages/api/expiry.ts";
import type { ConditionStatus, Verdict } from "../../packages/api/objects/conditions.ts";
import { isPodReady, podEnd, podIPs } from "../../packages/api/objects/pods.ts";
import { isTimeUnreadable } from "./expiry.ts";
import { endingPVCs, missingPVCs } from "./pvcs.ts";
import { isPodTaken, stuckPod, type View } from "./view.ts";

type ReadyVerdict = Verdict<"Ready", ReadyReason>;

/**
 * Computes Ready. Source: Agent Sandbox API, section 2.8 (rows 1 to 8); InvalidConfiguration as of 1.0; a terminating
 * Pod as of 1.0.11 (docs/decisions/0046).
 *
 * | rule | applies if | reason |
 * |---|---|---|
 * | multiplePods | the Sandbox has several Pods | MultiplePods |
 * | unreadableTime | spec.shutdownTime is not a valid time | InvalidConfiguration |
 * | brokenChildren | a child cannot be created | InvalidConfiguration if only another spec helps, otherwise ReconcilerError |
 * | suspended | the mode is Suspended | SandboxSuspended |
 * | finished | the Pod is Succeeded or Failed, and not because it was deleted | PodSucceeded, PodFailed |
 * | notReady | the Pod is missing, terminating or not ready, or the required Service is missing | DependenciesNotReady |
 * | foreignVolumes | everything is ready, but a volume is not the Sandbox's own | ReconcilerError |
 * | (none of these) | | DependenciesReady |
 */
export function readyVerdict(view: View): ReadyVerdict {
  const rules = [multiplePods, unreadableTime, brokenChildren, suspended, finished, notReady, foreignVolumes];
  for (const rule of rules) {
    const verdict = rule(view);
    if (verdict) return verdict;
  }
  return ready("True", "DependenciesReady", `Pod is Ready${servicePart(view)}`);
}

function multiplePods({ pods }: View): ReadyVerdict | undefined {
  if (pods.length < 2) return undefined;
  const what = `multiple Pods (${pods.length}) are controlled by this Sandbox`;
  return ready("False", "MultiplePods", `${what}; refusing to choose or create a Pod`);
}

function unreadableTime({ sandbox }: View): ReadyVerdict | undefined {
  if (!isTimeUnreadable(sandbox)) return undefined;
  return childrenError("InvalidConfiguration", [
    `spec.shutdownTime "${lifetimeOf(sandbox).shutdownTime}" cannot be read as a time`,
  ]);
}

function brokenChildren(view: View): ReadyVerdict | undefined {
  // A suspended Sandbox needs no Pod, so a problem with creating a Pod is no error. A Pod that cannot be deleted is one.
  const problems = view.problems.filter(({ kind, state }) =>
    kind !== "Pod" || (state === "stuck" ? stuckPod(view) !== undefined : isRunning(view))
  );
  if (problems.length === 0) return undefined;
  const final = problems.every(({ state }) => state === "invalid");
  return childrenError(final ? "InvalidConfiguration" : "ReconcilerError", problems.map(({ message }) => message));
}

function suspended(view: View): ReadyVerdict | undefined {
  if (isRunning(view)) return undefined;
  const podExists = view.pod !== undefined || isPodTaken(view);
  return ready("False", "SandboxSuspended", podExists ? "Sandbox is suspending" : "Sandbox is suspended");
}

function finished({ pod }: View): ReadyVerdict | undefined {
  const end = pod && podEnd(pod);
  if (end === "Succeeded") return ready("False", "PodSucceeded", "Pod completed successfully");
  if (end === "Failed") return ready("False", "PodFailed", "Pod failed");
  return undefined;
}

function notReady(view: View): ReadyVerdict | undefined {
  const pod = podPart(view);
  if (pod === "Pod is Ready" && (view.service || !requiresService(view))) return undefined;
  return ready("False", "DependenciesNotReady", `${pod}${servicePart(view)}`);
}

function foreignVolumes({ sandbox, pvcs }: View): ReadyVerdict | undefined {
  const foreign = missingPVCs(sandbox, pvcs);
  if (foreign.length === 0) return undefined;
  return childrenError("ReconcilerError", foreign.map((name) => `PVC "${name}" is not controlled by this Sandbox`));
}

function podPart({ sandbox, pod, pvcs }: View): string {
  if (!pod) {
    const ending = endingPVCs(sandbox, pvcs).map((name) => `; PVC "${name}" is being deleted`);
    return `Pod does not exist${ending.join("")}`;
  }
  const phase = pod.status?.phase ?? "";
  if (phase !== "Running") return `Pod exists with phase: ${phase}`;
  // The kubelet keeps the Pod Ready until its containers have ended. A client that connects would soon be cut off.
  if (pod.metadata.deletionTimestamp !== undefined) return "Pod is terminating";
  if (!isPodReady(pod)) return "Pod is Running but not Ready";
  return podIPs(pod).length > 0 ? "Pod is Ready" : "Pod is Ready but has no podIPs yet";
}

function servicePart(view: View): string {
  if (!requiresService(view)) return "";
  return view.service ? "; Service Exists" : "; Service does not exist";
}

/**
 * A Service is required if the spec asks for it. If the spec does not set `service`, an existing Service is required.
 */
function requiresService({ sandbox, service }: View): boolean {
  return sandbox.spec.service ?? service !== undefined;
}

function isRunning({ sandbox }: View): boolean {
  return sandbox.spec.operatingMode === "Running";
}

function childrenError(reason: ReadyReason, messages: string[]): ReadyVerdict {
  return ready("False", reason, `Error seen: ${messages.join("\n")}`);
}

function ready(status: ConditionStatus, reason: ReadyReason, message: string): ReadyVerdict {
  return { type: "Ready", status, reason, message };
}
