/**
 * Declares for the guard what a claim's status and annotations may contain. A claim can end because of its conditions, and
 * clients connect to the Sandbox that it names. @module
 */
import type { SandboxClaim } from "../../packages/api/sandboxclaim.ts";
import { boundSandbox } from "../../packages/api/claims/binding.ts";
import { refusedWrite } from "../../packages/api/keeperreports.ts";
import { expiryTime, isPublished } from "../../packages/api/expiry.ts";
import { sameJson } from "../../packages/api/objects/apply.ts";
import { type Condition, findCondition } from "../../packages/api/objects/conditions.ts";
import { isObject } from "../../packages/api/objects/json.ts";
import {
  FIRST_OBSERVED_ANNOTATION,
  FIRST_READY_ANNOTATION,
  SANDBOX_NAME_ANNOTATION,
} from "../../packages/api/objects/keys.ts";
import type { KubeObject } from "../../packages/api/objects/objects.ts";
import { listAll, type Observed } from "../../packages/webhook/metacontroller.ts";
import {
  conditionsOf,
  isSame,
  type ParentRules,
  type ReportedCondition,
  type StatusInvariants,
  type StatusRules,
} from "../../packages/webhook/statusrules.ts";

type Of = Observed<SandboxClaim>;
type Said = ReportedCondition<SandboxClaim>;

/** Conditions that the observed objects must confirm: what a claim reports of its Sandbox, the Sandbox reports as well. */
export const evidence: StatusInvariants<SandboxClaim> = {
  "Finished True": (saying) => isTheirs(saying) || (saying.isOld && isExpired(saying)),
  "Ready True": isTheirs,
  "Ready Absent": () => false,
  "Ready Unknown": isTheirs,
  // Clients give up because of some reasons.
  "Ready False": (saying) => isTheirs(saying) || hasCause(saying),
  // A claim copies every reason of its Sandbox, this one as well. Hook and keeper check the time themselves.
  // Another hook's clock may be ahead: a claim that has reported the expiry for this spec goes on to report it.
  "Ready False ClaimExpired": (saying) => isExpired(saying) || isTheirs(saying) || isReported(saying),
  "Ready False PodFailed": isTheirs,
  "Ready False PodSucceeded": isTheirs,
  "Ready False SandboxExpired": ({ said, observed }) =>
    sayingsOf(observed, said.type).some(({ reason }) => reason === said.reason),
};

export const statusRules: StatusRules<SandboxClaim> = {
  conditionTypes: ["Finished", "Ready"],
  keepsOthers: true,
  copied: (observed) => conditionsOf(boundIn(observed) ?? {}),
  fields: {
    // The hook writes about bound claims only, and never binds a claim to another Sandbox.
    sandbox(value, observed, _, status) {
      const sandbox = boundIn(observed);
      if (!sandbox || !isObject(value)) return false;
      const { name, podIPs, ...more } = value;
      if (name !== sandbox.metadata.name || Object.keys(more).length > 0) return false;
      const isReady = findCondition(conditionsOf({ status }), "Ready")?.status === "True";
      return sameJson(podIPs ?? [], addressesOf(sandbox)) || (podIPs === undefined && !isReady);
    },
  },
};

export const parentRules: ParentRules<SandboxClaim> = {
  annotations: {
    [SANDBOX_NAME_ANNOTATION]: (value, observed) => boundIn(observed)?.metadata.name === value,
    [FIRST_OBSERVED_ANNOTATION]: (value, observed, now) => isFirstTime(FIRST_OBSERVED_ANNOTATION, value, observed, now),
    [FIRST_READY_ANNOTATION]: (value, observed, now) => {
      const time = value === "unknown" ? now.toISOString() : value;
      return isFirstTime(FIRST_READY_ANNOTATION, time, observed, now);
    },
  },
};

/**
 * Tells whether the observed objects confirm a reason of Ready that the claim does not copy from its Sandbox.
 *
 * | reason | cause |
 * |---|---|
 * | ClaimExpired, SandboxExpired | see above |
 * | SandboxNotReady | the Sandbox is not Ready, has no address, or is being deleted |
 * | InvalidMetadata, ReconcilerError | the claim asks for metadata |
 * | ReconcilerError | the keeper has reported that the Sandbox cannot be changed |
 */
function hasCause({ said: { reason }, observed }: Said): boolean {
  if (["ClaimExpired", "SandboxExpired"].includes(reason)) return true;
  const sandbox = boundIn(observed);
  if (!sandbox) return false;
  if (reason === "SandboxNotReady") return !isServing(sandbox);
  if (!["InvalidMetadata", "ReconcilerError"].includes(reason)) return false;
  const isRefused = reason === "ReconcilerError" && refusedWrite(sandbox.metadata) !== undefined;
  return isRefused || observed.parent.spec.additionalPodMetadata !== undefined;
}

/** Returns the observed Sandbox that the claim is bound to; undefined: it is not bound, so that the binder writes about it. */
function boundIn({ parent, children }: Of): KubeObject | undefined {
  return boundSandbox(parent, listAll(children));
}

function isServing(sandbox: KubeObject): boolean {
  const { podIPs = [] } = (sandbox["status"] ?? {}) as { podIPs?: string[] };
  const ready = findCondition(conditionsOf(sandbox), "Ready");
  return sandbox.metadata.deletionTimestamp === undefined && ready?.status === "True" && podIPs.length > 0;
}

function isTheirs({ said, observed }: Said): boolean {
  return sayingsOf(observed, said.type).some((theirs) => isSame(said, theirs));
}

/** Uses only observed objects: a `Finished` in the answer itself does not count. */
function isExpired({ observed: { parent }, now }: Said): boolean {
  return (expiryTime(parent) ?? Infinity) <= now.getTime();
}

function isReported({ isOld, observed: { parent } }: Said): boolean {
  return isOld && isPublished(parent, "ClaimExpired");
}

function sayingsOf(observed: Of, type: string): Condition[] {
  const sandbox = boundIn(observed);
  return sandbox ? conditionsOf(sandbox).filter((condition) => condition.type === type) : [];
}

/** Tells whether a "first" time of a bound claim is set for the first time, and is not in the future. */
function isFirstTime(key: string, value: unknown, observed: Of, now: Date): boolean {
  const isUnset = !observed.parent.metadata.annotations?.[key];
  return isUnset && boundIn(observed) !== undefined && Date.parse(String(value)) <= now.getTime();
}

function addressesOf(sandbox: KubeObject): unknown {
  const { status } = sandbox;
  return isObject(status) ? status["podIPs"] ?? [] : [];
}
