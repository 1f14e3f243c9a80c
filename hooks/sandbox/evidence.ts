/** What must be observed of a Sandbox where its status says these. A claim ends by it, and takes its volumes along. @module */
import type { Sandbox } from "../../packages/api/sandbox.ts";
import { lifetimeOf } from "../../packages/api/expiry.ts";
import { findCondition, rfc3339 } from "../../packages/api/objects/conditions.ts";
import { UNRESOLVED_ANNOTATION } from "../../packages/api/objects/keys.ts";
import { isPodReady, type Pod, podCondition, podEnd, podIPs } from "../../packages/api/objects/pods.ts";
import { conditionsOf, type Evidence, type Saying } from "../../packages/webhook/evidence.ts";
import { volumeTemplates } from "./volumerules.ts";

/** What a Sandbox says that is over, or is being deleted, may be what it said while its Pod was there. */
export const evidence: Evidence<Sandbox> = {
  "Finished True": (saying) => (hasEnded(saying) && isTimely(saying)) || isLeftOver(saying),
  "PodScheduled False": (saying) => podsOf(saying).some(isUnscheduled) || isLeftOver(saying),
  "Ready Absent": (saying) => isLeftOver(saying),
  "Ready True": (saying) => (podsOf(saying).length === 1 && podsOf(saying).every(isServing)) || isLeftOver(saying),
  // Pools replace what is not Ready for long, and clients give up on some of its reasons.
  "Ready False": (saying) => !isSound(saying) || isLeftOver(saying),
  "Ready False InvalidConfiguration": (saying) => isMissingSomething(saying) || isLeftOver(saying),
  "Ready False PodFailed": (saying) => hasEnded(saying) || isLeftOver(saying),
  "Ready False PodSucceeded": (saying) => hasEnded(saying) || isLeftOver(saying),
  "Ready False SandboxExpired": (saying) => isExpired(saying) || isLeftOver(saying),
  "Ready False SandboxSuspended": (saying) => isSuspended(saying) || isLeftOver(saying),
  "Suspended True": (saying) => (isSuspended(saying) && podsOf(saying).length === 0) || isLeftOver(saying),
};

type Of = Saying<Sandbox>;

function isLeftOver(saying: Of): boolean {
  return saying.isOld && (isExpired(saying) || saying.observed.parent.metadata.deletionTimestamp !== undefined);
}

function isExpired({ observed: { parent }, now }: Of): boolean {
  return Date.parse(lifetimeOf(parent).shutdownTime ?? "") <= now.getTime();
}

function isSuspended({ observed: { parent } }: Of): boolean {
  return parent.spec.operatingMode === "Suspended";
}

function hasEnded(saying: Of): boolean {
  return podsOf(saying).some((pod) => podEnd(pod) !== undefined);
}

/** Claims count from that time. */
function isTimely({ said, observed: { parent }, now }: Of): boolean {
  const before = findCondition(conditionsOf(parent), said.type);
  return said.lastTransitionTime === (before?.status === said.status ? before.lastTransitionTime : rfc3339(now));
}

/** Tells whether clients get through: it has an address and is Ready, and nobody is about to end it. */
function isServing(pod: Pod): boolean {
  return pod.status?.phase === "Running" && isPodReady(pod) && podIPs(pod).length > 0;
}

function isUnscheduled(pod: Pod): boolean {
  return podCondition(pod, "PodScheduled")?.status === "False";
}

/** Tells whether there is nothing at all that could be wrong with it. */
function isSound(saying: Of): boolean {
  const pods = podsOf(saying);
  const isWhole = pods.length === 1 &&
    pods.every((pod) => isServing(pod) && pod.metadata.deletionTimestamp === undefined);
  return isWhole && !isSuspended(saying) && !isExpired(saying) && !isMissingSomething(saying);
}

/** Tells whether a child that it asks for is not seen, or somebody has found out why one cannot be; or its end is no time. */
function isMissingSomething(saying: Of): boolean {
  const { parent: { metadata, spec }, children } = saying.observed;
  const namesOf = (kind: string) => new Set(Object.values(children[kind] ?? {}).map((child) => child.metadata.name));
  const { shutdownTime } = lifetimeOf(saying.observed.parent);
  const volumes = namesOf("PersistentVolumeClaim.v1");
  return podsOf(saying).length === 0 || metadata.annotations?.[UNRESOLVED_ANNOTATION] !== undefined ||
    (shutdownTime !== undefined && Number.isNaN(Date.parse(shutdownTime))) ||
    (spec.service === true && !namesOf("Service.v1").has(metadata.name)) ||
    volumeTemplates(saying.observed.parent).some(({ claimName }) => !volumes.has(claimName));
}

function podsOf({ observed: { children } }: Of): Pod[] {
  return Object.values(children["Pod.v1"] ?? {}) as Pod[];
}
