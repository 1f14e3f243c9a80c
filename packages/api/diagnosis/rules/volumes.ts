/** Finds PersistentVolumeClaims of a Pod that do not exist or are not bound, and the reason. @module */
import type { VolumeClaimFact } from "../facts.ts";
import { type Cause, cause, type Evidence, named, type ObjectRef } from "../finding.ts";
import { change, kubectl } from "../remedy.ts";
import { eventEvidence, eventsOf, type PodScene, secondsSince } from "../scene.ts";

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
    const problem = found ? claimCause(scene, found, object) : missing(scene, object);
    if (problem) return problem;
  }
  return undefined;
}

function missing(scene: PodScene, object: ObjectRef): Cause | undefined {
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
  if (storageClassName && isUnknown(storageClasses, storageClassName, event?.message)) {
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

function isUnknown(classes: { metadata: { name: string } }[] | undefined, name: string, words = ""): boolean {
  if (words.includes(`"${name}" not found`)) return true;
  return classes !== undefined && !classes.some(({ metadata }) => metadata.name === name);
}

function created({ metadata }: VolumeClaimFact): string | undefined {
  return metadata.creationTimestamp;
}
