/** Finds missing Secrets and ConfigMaps that a Pod uses as variables or volumes, and mounts that fail. @module */
import type { Code } from "../catalogue.ts";
import { containersOf, eventEvidence, eventsOf, type PodScene, waitingEvidence } from "../scene.ts";
import { type Cause, cause, type Evidence, named, type ObjectRef } from "../finding.ts";
import { isTransient } from "../messages.ts";
import { change } from "../remedy.ts";

/** The kubelet cannot create a container because of its variables or settings: `CreateContainerConfigError`. */
export function containerConfig(scene: PodScene): Cause | undefined {
  const container = containersOf(scene)
    .find(({ reason, message }) => reason === "CreateContainerConfigError" && !isTransient(message));
  if (!container) return undefined;
  const { message, title, field } = container;
  const evidence = waitingEvidence(scene, container);
  const missing = missingCause(scene, message, evidence, change(scene, "or change", `${field}.env`));
  if (missing) return missing;
  const base = { object: scene.podRef, evidence: [evidence], since: scheduledAt(scene) };
  if (/runAsNonRoot/.test(message)) {
    return cause("RunAsNonRoot", {
      ...base,
      summary: `The ${title} must not run as root (runAsNonRoot), and its image does not say another user by number.`,
      remedy: change(scene, "Set", `${field}.securityContext.runAsUser`),
    });
  }
  return cause("ContainerConfigInvalid", {
    ...base,
    summary: `The kubelet cannot make the ${title}: ${message}`,
    remedy: change(scene, "Change", field),
  });
}

/** A volume is not mounted in the Pod: its source is missing, or mounting fails. */
export function mounts(scene: PodScene): Cause | undefined {
  const { pod, podRef, facts } = scene;
  const waits = containersOf(scene).some(({ reason }) => /^(ContainerCreating|PodInitializing)$/.test(reason));
  const event = eventsOf(facts, podRef, pod.metadata.uid)
    .filter(({ message }) => !isTransient(message))
    .find(({ reason }) => reason === "FailedMount" || reason === "FailedAttachVolume");
  if (!waits || !event) return undefined;
  const missing = missingCause(scene, event.message, eventEvidence(event), change(scene, "or change", "volumes"));
  if (missing) return missing;
  return cause("VolumeMountFailed", {
    object: podRef,
    summary: `A volume of Pod "${podRef.name}" cannot be mounted: ${event.message}`,
    evidence: [eventEvidence(event)],
    since: event.first,
  });
}

/** The kubelet's messages about missing objects. Source: k8s.io/kubernetes pkg/kubelet and pkg/volume, 1.36. */
const MISSING = /\b(secret|configmap) "([^"]+)" not found/i;
const KEY =
  /couldn't find key (\S+) in (Secret|ConfigMap) \S+?\/([^\s,]+)|references non-existent (?:secret|config) key: (\S+)/i;

function missingCause(scene: PodScene, message: string, evidence: Evidence, otherwise: string): Cause | undefined {
  const { podRef } = scene;
  const [, noun, name] = MISSING.exec(message) ?? [];
  const base = { evidence: [evidence], since: scheduledAt(scene) };
  if (noun !== undefined && name !== undefined) {
    const isSecret = noun.toLowerCase() === "secret";
    const object: ObjectRef = { ...podRef, kind: isSecret ? "Secret" : "ConfigMap", name };
    const code: Code = isSecret ? "SecretNotFound" : "ConfigMapNotFound";
    const create = isSecret ? `kubectl create secret generic ${name}` : `kubectl create configmap ${name}`;
    return cause(code, {
      ...base,
      object,
      summary: `${named(object)}, which Pod "${podRef.name}" needs, does not exist.`,
      remedy: `Create it (${create} -n ${podRef.namespace} …), ${otherwise}`,
    });
  }
  const [found, key = "", kind = "", owner = "", volumeKey] = KEY.exec(message) ?? [];
  if (found === undefined) return undefined;
  const object = owner === ""
    ? podRef
    : { ...podRef, kind: kind === "ConfigMap" ? "ConfigMap" : "Secret", name: owner };
  const which = volumeKey ?? key;
  return cause("KeyNotFound", {
    ...base,
    object,
    summary: owner === ""
      ? `A volume of Pod "${podRef.name}" is made from the key "${which}", which does not exist.`
      : `${named(object)} lacks the key "${which}", which Pod "${podRef.name}" needs.`,
    remedy: `Add the key "${which}", ${otherwise}`,
  });
}

function scheduledAt({ pod }: PodScene): string | undefined {
  return pod.status?.conditions?.find(({ type }) => type === "PodScheduled")?.lastTransitionTime ??
    pod.metadata.creationTimestamp;
}
