/**
 * Finds containers that cannot be started, end again and again, or run without becoming ready. @module
 */
import type { ContainerFact, ContainerStateFact, PodFact } from "../facts.ts";
import { type Cause, cause, type Evidence } from "../finding.ts";
import { change, remedyOfFailed } from "../remedy.ts";
import {
  type Container,
  containersOf,
  eventEvidence,
  eventsOf,
  type PodScene,
  secondsSince,
  timeOf,
  waitingEvidence,
} from "../scene.ts";

type End = NonNullable<ContainerStateFact["terminated"]>;

/** After this many restarts, a container that is not ready will probably fail again. */
const MANY_RESTARTS = 3;
/** The kubelet's reasons for a container that never ran. */
const NEVER_RAN = ["StartError", "ContainerCannotRun"];
const KILLED = /failed (?:liveness|startup) probe/;
/** Exit codes of SIGKILL and SIGTERM. */
const SIGNALLED = [137, 143];

/** Source of the three: k8s.io/kubernetes pkg/kubelet, 1.36. */
export const LONGEST_BACK_OFF_SECONDS = 300;
const FIRST_BACK_OFF_SECONDS = 10;
const FORGOTTEN_SECONDS = 600;

/**
 * Tells whether a container of the Pod has crashed and waits for a restart, or was restarted so recently that the kubelet
 * would still wait before the next one. The Sandbox of such a Pod can be Ready: for some seconds between two crashes, and
 * until the hook has seen the crash.
 */
export function isCrashLooping({ status }: PodFact, now: Date): boolean {
  return [...status?.initContainerStatuses ?? [], ...status?.containerStatuses ?? []]
    .some((container) => hasCrashed(container) || wasRestarted(container, now));
}

function hasCrashed({ restartCount = 0, state }: ContainerFact): boolean {
  if (state?.waiting?.reason === "CrashLoopBackOff") return true;
  return restartCount > 0 && state?.terminated !== undefined && state.terminated.exitCode !== 0;
}

function wasRestarted({ restartCount = 0, state, lastState }: ContainerFact, now: Date): boolean {
  const end = lastState?.terminated;
  const { startedAt } = state?.running ?? {};
  if (restartCount === 0 || !end || startedAt === undefined) return false;
  // The kubelet forgets earlier restarts of a container that has run for long.
  const lasted = (timeOf(end.finishedAt) - timeOf(end.startedAt)) / 1000;
  if (end.startedAt !== undefined && lasted >= FORGOTTEN_SECONDS) return false;
  return secondsSince(startedAt, now) <
    Math.min(LONGEST_BACK_OFF_SECONDS, FIRST_BACK_OFF_SECONDS * 2 ** (restartCount - 1));
}

/** A container crashes, was killed because of its memory or a probe, or cannot be started. */
export function crash(scene: PodScene): Cause | undefined {
  for (const container of containersOf(scene)) {
    const found = startCause(scene, container) ?? crashCause(scene, container);
    if (found) return found;
  }
  return undefined;
}

function startCause(scene: PodScene, container: Container): Cause | undefined {
  const { reason, message, title, field } = container;
  const end = lastEnd(container);
  const isWaiting = reason === "CreateContainerError" || reason === "RunContainerError";
  if (!isWaiting && !NEVER_RAN.includes(end?.reason ?? "")) return undefined;
  const words = (isWaiting ? message : end?.message ?? "").trim();
  return cause("ContainerStartFailed", {
    object: scene.podRef,
    summary: `The ${title} cannot be started: ${lastWords(words)}`,
    evidence: [
      ...(reason === "" ? [] : [waitingEvidence(scene, container)]),
      ...(end ? [endEvidence(scene, container, end)] : []),
    ],
    since: end?.finishedAt ?? scene.pod.metadata.creationTimestamp,
    remedy: change(scene, "Correct", `${field}.command`),
  });
}

function crashCause(scene: PodScene, container: Container): Cause | undefined {
  const { reason, title, field, status } = container;
  const end = lastEnd(container);
  const restarts = status.restartCount ?? 0;
  const isCrashing = reason === "CrashLoopBackOff" ||
    (!status.ready && end !== undefined && restarts >= MANY_RESTARTS) || wasRestarted(status, scene.now) ||
    (status.state?.terminated !== undefined && end?.exitCode !== 0 && !status.ready);
  if (!isCrashing) return undefined;
  const base = {
    object: scene.podRef,
    evidence: [
      ...(end ? [endEvidence(scene, container, end)] : []),
      ...(reason === "" ? [] : [waitingEvidence(scene, container)]),
    ],
    since: end?.finishedAt,
  };
  if (base.evidence.length === 0) return undefined;
  // The Pod's phase changes a moment later, or, while its other containers run, not at all.
  if (scene.pod.spec?.restartPolicy === "Never") {
    return cause("PodFailed", {
      ...base,
      summary:
        `The ${title} has ended with exit code ${end?.exitCode ?? "unknown"}, and the Pod's restartPolicy does ` +
        "not start it again.",
      remedy: remedyOfFailed(scene, scene.podRef),
    });
  }
  const often = `${restarts} ${restarts === 1 ? "restart" : "restarts"} so far`;
  const again = restarts === 0 ? "and is started again" : `and does again when restarted (${often})`;
  if (end?.reason === "OOMKilled") {
    return cause("OutOfMemory", {
      ...base,
      summary: `The ${title} was killed because it used more memory than its limit (${often}).`,
      remedy: change(scene, "Raise", `${field}.resources.limits.memory`),
    });
  }
  return probeKill(scene, container, base.evidence) ?? cause("CrashLoop", {
    ...base,
    hopeless: restarts >= MANY_RESTARTS,
    summary: `The ${title} ends with exit code ${end?.exitCode ?? "unknown"}, ${again}.`,
    remedy: `Read the logs of its last run: kubectl logs ${scene.podRef.name} -n ${scene.podRef.namespace} ` +
      `-c ${status.name} --previous, and ${change(scene, "correct", field)}`,
  });
}

/**
 * If a liveness or startup probe fails, the kubelet kills the container. The cause is then the probe, not the exit
 * code. If the Events are late or lost, the exit code of the signal shows it: otherwise nobody sends this signal, and
 * for a lack of memory the reason would be OOMKilled.
 */
function probeKill(scene: PodScene, container: Container, evidence: Evidence[]): Cause | undefined {
  const { title, field, status } = container;
  const events = eventsOf(scene.facts, scene.podRef, scene.pod.metadata.uid);
  const killing = events.find(({ reason, message }) => reason === "Killing" && KILLED.test(message));
  const unhealthy = events.find(({ reason, message }) => reason === "Unhealthy" && !message.startsWith("Readiness"));
  const spec = scene.pod.spec?.containers?.find(({ name }) => name === status.name);
  const probes = (["startupProbe", "livenessProbe"] as const).filter((probe) => spec?.[probe] !== undefined);
  const isSignalled = SIGNALLED.includes(lastEnd(container)?.exitCode ?? 0) && probes.length > 0;
  if (!killing && !isSignalled) return undefined;
  const told = `${killing?.message ?? ""} ${unhealthy?.message ?? ""}`.toLowerCase();
  const kind = told.includes("startup") ? "startupProbe" : told.includes("liveness") ? "livenessProbe" : probes.at(-1);
  return cause("ProbeFailing", {
    object: scene.podRef,
    summary: `The ${title} is killed again and again because its ${kind} fails.`,
    evidence: [...[unhealthy, killing].filter((event) => event !== undefined).map(eventEvidence), ...evidence],
    since: unhealthy?.first ?? killing?.first,
    remedy: change(scene, "Fix what it checks, or change", `${field}.${kind}`),
    isGuess: !killing,
  });
}

function lastEnd({ status }: Container): End | undefined {
  return status.state?.terminated ?? status.lastState?.terminated;
}

function endEvidence({ podRef }: PodScene, { status }: Container, end: End): Evidence {
  const { exitCode, reason, message } = end;
  const words = [`exit code ${exitCode ?? "unknown"}`, reason, message?.trim()].filter(Boolean).join(", ");
  return { object: podRef, where: `status.containerStatuses[${status.name}].lastState.terminated`, text: words };
}

/** Returns the end of the message: the container runtime puts its own words first, and the reason comes last. */
function lastWords(text: string): string {
  const parts = text.split(/: (?=[a-z"])/);
  return parts.slice(-3).join(": ") || text;
}

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
