/**
 * Finds out whether a Pod refers to objects that are missing or not usable: PersistentVolumeClaims that are not bound,
 * Secrets and ConfigMaps for its variables and volumes. Also finds mounts and settings that fail. @module
 */
import type { Code } from "../catalogue.ts";
import { EGRESS_CA } from "../../egress/podsettings.ts";
import { containersOf, eventEvidence, eventsOf, type PodScene, secondsSince, waitingEvidence } from "../scene.ts";
import { type Cause, cause, type Evidence, named, type ObjectRef } from "../finding.ts";
import { isTransient } from "../messages.ts";
import { change, kubectl } from "../remedy.ts";
import type { VolumeClaimFact } from "../facts.ts";

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
      remedy: !isSecret && name === EGRESS_CA
        ? `Create it with the certificate authority of the egress proxy: docs/howto/egress-proxy.md.`
        : `Create it (${create} -n ${podRef.namespace} …), ${otherwise}`,
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

const DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class";
/** To create and bind a volume takes up to this many seconds. */
const PATIENCE_SECONDS = 5;

/** A PersistentVolumeClaim of the Pod does not exist or is not bound, so no node takes the Pod. */
export function volumes(scene: PodScene): Cause | undefined {
  const { pod, podRef, facts } = scene;
  if (pod.spec?.nodeName || !facts.volumeClaims) return undefined;
  for (const { persistentVolumeClaim } of pod.spec?.volumes ?? []) {
    if (!persistentVolumeClaim) continue;
    const name = persistentVolumeClaim.claimName;
    const found = facts.volumeClaims.find(({ metadata }) => metadata.name === name);
    const object: ObjectRef = { ...podRef, kind: "PersistentVolumeClaim", name };
    const problem = found ? claimCause(scene, found, object) : claimNotFound(scene, object);
    if (problem) return problem;
  }
  return undefined;
}

function claimNotFound(scene: PodScene, object: ObjectRef): Cause | undefined {
  const { pod, podRef, now } = scene;
  const since = pod.metadata.creationTimestamp;
  if (secondsSince(since, now) < PATIENCE_SECONDS) return undefined;
  return cause("VolumeClaimNotFound", {
    object,
    summary: `${named(object)}, which Pod "${podRef.name}" mounts, does not exist.`,
    evidence: [{ object: podRef, where: "spec.volumes[].persistentVolumeClaim.claimName", text: object.name }],
    since,
    remedy: `Create it, ${change(scene, "or change", "volumes")}`,
  });
}

function claimCause(scene: PodScene, found: VolumeClaimFact, object: ObjectRef): Cause | undefined {
  if (found.status?.phase === "Bound" || found.spec?.volumeName) return undefined;
  const { facts: { storageClasses }, facts, blueprint } = scene;
  const { storageClassName } = found.spec ?? {};
  const events = eventsOf(facts, object, found.metadata.uid);
  const where = `spec.volumeClaimTemplates of a new ${blueprint.kind}`;
  const state: Evidence = { object, where: "status.phase", text: found.status?.phase ?? "Pending" };
  const [event] = events;
  const base = { object, evidence: [...(event ? [eventEvidence(event)] : []), state], since: created(found) };
  if (storageClassName && isUnknownClass(storageClasses, storageClassName, event?.message)) {
    const storageClass: ObjectRef = { kind: "StorageClass", name: storageClassName };
    return cause("StorageClassNotFound", {
      ...base,
      object: storageClass,
      path: [object, storageClass],
      summary: `${named(storageClass)}, which ${named(object)} asks for, does not exist.`,
      remedy: `Create it, or name one that exists (kubectl get storageclass) in ${where}.`,
    });
  }
  const failed = events.find(({ reason }) => reason === "ProvisioningFailed");
  if (failed) {
    return cause("VolumeProvisioningFailed", {
      ...base,
      evidence: [eventEvidence(failed), state],
      summary: `No volume could be made for ${named(object)}: ${failed.message}`,
    });
  }
  const waits = events.some(({ reason }) => reason === "WaitForFirstConsumer" || reason === "Provisioning");
  const isYoung = secondsSince(created(found), scene.now) < PATIENCE_SECONDS;
  return waits || (isYoung && !event) ? undefined : unbound(scene, found, base);
}

function unbound(
  { facts: { storageClasses } }: PodScene,
  found: VolumeClaimFact,
  base: Pick<Cause, "object" | "evidence">,
): Cause {
  const { storageClassName } = found.spec ?? {};
  const hasDefault = storageClasses?.some(({ metadata }) => metadata.annotations?.[DEFAULT_CLASS] === "true");
  if (storageClassName === undefined && hasDefault === false) {
    return cause("NoDefaultStorageClass", {
      ...base,
      summary: `${named(base.object)} names no StorageClass, and none is the default.`,
    });
  }
  const by = storageClassName
    ? `the provisioner of StorageClass "${storageClassName}" has not made it a volume`
    : "no PersistentVolume fits it, and it names no StorageClass that makes one";
  return cause("VolumePending", {
    ...base,
    summary: `${named(base.object)} is not bound: ${by}.`,
    remedy: `Create a PersistentVolume that fits, or see what keeps the provisioner: ${
      kubectl("describe", base.object)
    }.`,
    hopeless: storageClassName === "" || storageClassName === undefined,
  });
}

function isUnknownClass(classes: { metadata: { name: string } }[] | undefined, name: string, words = ""): boolean {
  if (words.includes(`"${name}" not found`)) return true;
  return classes !== undefined && !classes.some(({ metadata }) => metadata.name === name);
}

function created({ metadata }: VolumeClaimFact): string | undefined {
  return metadata.creationTimestamp;
}
