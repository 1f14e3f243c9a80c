/** Finds out whether a Sandbox is in a state that is intended or final: expired, suspended, ended. @module */
import { lifetimeOf } from "../../expiry.ts";
import { findCondition } from "../../objects/conditions.ts";
import { type Cause, cause } from "../finding.ts";
import { kubectl, remedyOfFailed } from "../remedy.ts";
import { conditionEvidence, evidenceOf, type Scene } from "../scene.ts";

/** The Sandbox's `shutdownTime` has passed, or its status reports that it has expired. */
export function expired({ sandbox, at, now }: Scene): Cause | undefined {
  const { shutdownTime, shutdownPolicy } = lifetimeOf(sandbox);
  const ready = findCondition(sandbox.status?.conditions, "Ready");
  const isPast = Date.parse(shutdownTime ?? "") <= now.getTime();
  if (!isPast && ready?.reason !== "SandboxExpired") return undefined;
  const volumes = shutdownPolicy === "Delete" ? "" : `; its volumes stay until ${kubectl("delete", at)}`;
  return cause("Expired", {
    object: at,
    summary: `Sandbox "${at.name}" expired${shutdownTime === undefined ? "" : ` at ${shutdownTime}`}.`,
    evidence: [
      ...(shutdownTime === undefined ? [] : [{ object: at, where: "spec.shutdownTime", text: shutdownTime }]),
      ...(ready ? [conditionEvidence(at, ready)] : []),
    ],
    since: isPast ? shutdownTime : ready?.lastTransitionTime,
    remedy: `Set spec.shutdownTime to a time ahead, or create a new sandbox${volumes}.`,
  });
}

/** The Sandbox is suspended. */
export function suspended({ sandbox, at, facts: { subject } }: Scene): Cause | undefined {
  if (sandbox.spec.operatingMode !== "Suspended") return undefined;
  const condition = findCondition(sandbox.status?.conditions, "Suspended");
  const patch = `--type=merge -p '{"spec":{"operatingMode":"Running"}}'`;
  const through = subject.kind === "SandboxClaim" ? ", or open it through the router, which wakes it" : "";
  return cause("Suspended", {
    object: at,
    summary: `Sandbox "${at.name}" is suspended: it has no Pod until it is resumed, and its volumes stay.`,
    evidence: [
      { object: at, where: "spec.operatingMode", text: "Suspended" },
      ...(condition ? [conditionEvidence(at, condition)] : []),
    ],
    since: condition?.status === "True" ? condition.lastTransitionTime : undefined,
    remedy: `Resume it: ${kubectl("patch", at)} ${patch}${through}.`,
  });
}

/**
 * The Sandbox's Pod has disappeared several times. If it has disappeared only once, the reason may be a drained node,
 * or a user who wants a new Pod.
 */
export function podLost({ sandbox, at }: Scene): Cause | undefined {
  const lost = findCondition(sandbox.status?.conditions, "PodLost");
  if (lost?.status !== "True" || lost.message.includes("has disappeared once")) return undefined;
  return cause("PodLost", {
    object: at,
    summary: `The Pod of Sandbox "${at.name}" keeps disappearing: ${lost.message}.`,
    evidence: [conditionEvidence(at, lost), ...evidenceOf(at, sandbox.status?.conditions, "Ready")],
    since: lost.lastTransitionTime,
  });
}

/** The Sandbox has several Pods. */
export function multiplePods({ sandbox, at }: Scene): Cause | undefined {
  const ready = findCondition(sandbox.status?.conditions, "Ready");
  if (ready?.reason !== "MultiplePods") return undefined;
  return cause("MultiplePods", {
    object: at,
    summary: `More than one Pod belongs to Sandbox "${at.name}"; it needs exactly one.`,
    evidence: [conditionEvidence(at, ready)],
    since: ready.lastTransitionTime,
    remedy: `Delete all Pods but one of those that ${at.name} controls: kubectl get pods -n ${at.namespace} ` +
      `-l ${sandbox.status?.selector ?? "agents.x-k8s.io/sandbox-name-hash"}.`,
  });
}

/** The Pod has ended and does not restart by itself. */
export function ended(scene: Scene): Cause | undefined {
  const { sandbox, at, pod } = scene;
  const finished = findCondition(sandbox.status?.conditions, "Finished");
  // A Pod that is being deleted has not ended by itself: another one follows.
  if (pod?.metadata.deletionTimestamp !== undefined) return undefined;
  const phase = pod ? pod.status?.phase : finished?.status === "True" ? finished.reason.slice("Pod".length) : "";
  if (phase !== "Succeeded" && phase !== "Failed") return undefined;
  const podRef = { ...at, kind: "Pod" };
  const told = [pod?.status?.reason, pod?.status?.message].filter(Boolean).join(": ");
  const end = pod?.status?.containerStatuses?.map(({ state }) => state?.terminated).find((state) => state?.exitCode);
  const isEvicted = pod?.status?.reason === "Evicted";
  const words = end ? ` with exit code ${end.exitCode}${end.reason ? ` (${end.reason})` : ""}` : "";
  const summary = phase === "Succeeded"
    ? `Pod "${at.name}" has finished its work.`
    : isEvicted
    ? `Pod "${at.name}" was evicted from its node: ${pod?.status?.message ?? ""}`
    : `Pod "${at.name}" has failed${words}, and its restartPolicy does not start it again.`;
  return cause(isEvicted ? "PodEvicted" : phase === "Failed" ? "PodFailed" : "PodSucceeded", {
    object: podRef,
    summary,
    evidence: [
      ...evidenceOf(at, sandbox.status?.conditions, "Finished"),
      ...(pod ? [{ object: podRef, where: "status.phase", text: told === "" ? phase : `${phase} ${told}` }] : []),
      ...(end?.message ? [{ object: podRef, where: "status.containerStatuses", text: end.message.trim() }] : []),
    ],
    since: finished?.lastTransitionTime ?? end?.finishedAt,
    ...(phase === "Succeeded" || isEvicted ? {} : {
      remedy: remedyOfFailed(scene, at),
    }),
  });
}
