/** What must be observed of a Sandbox where its status says these. A claim ends by it, and takes its volumes along. @module */
import type { Sandbox } from "../../packages/api/sandbox.ts";
import { lifetimeOf } from "../../packages/api/expiry.ts";
import { findCondition, rfc3339 } from "../../packages/api/objects/conditions.ts";
import { type Pod, podEnd } from "../../packages/api/objects/pods.ts";
import { conditionsOf, type Evidence, type Saying } from "../../packages/webhook/evidence.ts";

/** What a Sandbox says that is over, or is being deleted, may be what it said while its Pod was there. */
export const evidence: Evidence<Sandbox> = {
  "Finished True": (saying) => (hasEnded(saying) && isTimely(saying)) || isLeftOver(saying),
  "Ready True": (saying) => podsOf(saying).length > 0 || isLeftOver(saying),
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

function podsOf({ observed: { children } }: Of): Pod[] {
  return Object.values(children["Pod.v1"] ?? {}) as Pod[];
}
