/** Finds containers that run but are not ready, because a probe fails or a readiness gate is not True. @module */
import { containersOf } from "../containers.ts";
import { type Cause, cause } from "../finding.ts";
import { change } from "../remedy.ts";
import { eventEvidence, eventsOf, type PodScene } from "../scene.ts";

/** The beginning of the message of an Event Unhealthy, before the probe's own output. */
const PROBE = /^(Readiness|Startup|Liveness) probe (?:failed|errored)(?:[^:]*): ?/;

/** A container runs and is not ready, and the kubelet reports that its probe fails. */
export function probe(scene: PodScene): Cause | undefined {
  const { pod, podRef, facts } = scene;
  const container = containersOf(scene).find(({ status, field }) =>
    status.state?.running && !status.ready && field === "containers[]"
  );
  if (!container) return undefined;
  const event = eventsOf(facts, podRef, pod.metadata.uid)
    .find(({ reason, message }) => reason === "Unhealthy" && PROBE.test(message));
  if (!event) return undefined;
  const [matched, kind = "Readiness"] = PROBE.exec(event.message) ?? [""];
  const words = event.message.slice(matched.length).trim();
  return cause("ProbeFailing", {
    object: podRef,
    summary: `The ${container.title} runs, and its ${kind.toLowerCase()} probe fails${
      words === "" ? "." : `: ${words}`
    }`,
    evidence: [
      eventEvidence(event),
      { object: podRef, where: `status.containerStatuses[${container.status.name}].ready`, text: "false" },
    ],
    since: event.first,
    remedy: change(scene, "Fix what it checks, or change", `containers[].${kind.toLowerCase()}Probe`),
  });
}

/** All containers are ready, but a readiness gate is not True. */
export function readinessGate({ pod, podRef, ...scene }: PodScene): Cause | undefined {
  const conditions = pod.status?.conditions ?? [];
  const isTrue = (wanted: string) => conditions.some(({ type, status }) => type === wanted && status === "True");
  const gate = pod.spec?.readinessGates?.find(({ conditionType }) => !isTrue(conditionType))?.conditionType;
  if (gate === undefined || !isTrue("ContainersReady")) return undefined;
  const ready = conditions.find(({ type }) => type === "Ready");
  return cause("ReadinessGateWaiting", {
    object: podRef,
    summary: `Pod "${podRef.name}" waits for its readiness gate ${gate}.`,
    evidence: [{ object: podRef, where: `status.conditions[${gate}]`, text: ready?.message ?? "not True" }],
    since: ready?.lastTransitionTime,
    remedy: `See why nobody sets the condition ${gate} on the Pod, ${
      change({ ...scene, pod }, "or leave it out of", "readinessGates")
    }`,
  });
}
