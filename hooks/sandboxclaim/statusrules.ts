/**
 * Declares for the guard what a claim's status and annotations may contain. A claim can end because of its conditions, and
 * clients connect to the Sandbox that it names. @module
 */
import type { SandboxClaim } from "../../packages/api/sandboxclaim.ts";
import { readClaimProblem } from "../../packages/api/claimproblem.ts";
import { refusedWrite } from "../../packages/api/claims/refusedwrite.ts";
import { expiryTime } from "../../packages/api/expiry.ts";
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
  type Evidence,
  isSame,
  type ParentRules,
  type Saying,
  type StatusRules,
} from "../../packages/webhook/statusrules.ts";

type Of = Observed<SandboxClaim>;
type Said = Saying<SandboxClaim>;

/** Conditions that the observed objects must confirm: what a claim reports of its Sandbox, the Sandbox reports as well. */
export const evidence: Evidence<SandboxClaim> = {
  "Finished True": (saying) => isTheirs(saying) || (saying.isOld && isExpired(saying)),
  "Ready True": isTheirs,
  "Ready Absent": () => false,
  "Ready Unknown": isTheirs,
  // Because of some reasons the binder binds the claim to another Sandbox, and because of others clients give up.
  "Ready False": (saying) => isTheirs(saying) || hasCause(saying),
  // A claim copies every reason of its Sandbox, this one as well. Hook and keeper check the time themselves.
  "Ready False ClaimExpired": (saying) => isExpired(saying) || isTheirs(saying),
  "Ready False PodFailed": isTheirs,
  "Ready False PodSucceeded": isTheirs,
  "Ready False SandboxExpired": ({ said, observed }) =>
    sayingsOf(observed, said.type).some(({ reason }) => reason === said.reason),
};

export const statusRules: StatusRules<SandboxClaim> = {
  conditionTypes: ["Finished", "Ready"],
  keepsOthers: true,
  fields: {
    // The Sandbox must be observed as the claim's, with its own addresses. They may be missing until it is Ready.
    sandbox(value, { children }, _, status) {
      const sandboxes = listAll(children);
      if (value === undefined) return sandboxes.length === 0;
      if (!isObject(value)) return false;
      const { name, podIPs, ...more } = value;
      const sandbox = sandboxes.find(({ metadata }) => metadata.name === name);
      if (sandbox === undefined || Object.keys(more).length > 0) return false;
      const isReady = findCondition(conditionsOf({ status }), "Ready")?.status === "True";
      return sameJson(podIPs ?? [], addressesOf(sandbox)) || (podIPs === undefined && !isReady);
    },
  },
};

export const parentRules: ParentRules<SandboxClaim> = {
  annotations: {
    [SANDBOX_NAME_ANNOTATION]: (value, { children }) =>
      listAll(children).some(({ metadata }) => metadata.name === value),
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
 * | SandboxMissing | there is no Sandbox |
 * | SandboxNotReady | the Sandbox is not Ready, has no address, is being deleted, or is not the one in the claim's status |
 * | InvalidMetadata, ReconcilerError | the claim asks for metadata |
 * | ReconcilerError | the keeper has reported that the Sandbox cannot be changed |
 * | any other | there is no Sandbox, and keeper or binder have reported this reason |
 */
function hasCause({ said: { reason }, observed }: Said): boolean {
  const { spec, metadata } = observed.parent;
  const sandboxes = listAll(observed.children);
  if (["ClaimExpired", "SandboxExpired"].includes(reason)) return true;
  const shown = observed.parent.status?.sandbox?.name ?? "";
  if (reason === "SandboxNotReady") {
    return sandboxes.some((sandbox) => !isServing(sandbox) || ![sandbox.metadata.name, ""].includes(shown));
  }
  const isMetadata = ["InvalidMetadata", "ReconcilerError"].includes(reason) &&
    spec.additionalPodMetadata !== undefined;
  if (isMetadata || refusedWrite(metadata)?.problem.reason === reason) return true;
  if (sandboxes.length > 0) return false;
  return reason === "SandboxMissing" || readClaimProblem(metadata)?.reason === reason;
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

function sayingsOf({ children }: Of, type: string): Condition[] {
  return listAll(children).flatMap((sandbox) => findCondition(conditionsOf(sandbox), type) ?? []);
}

/** Tells whether a "first" time is set for the first time, and is not in the future. */
function isFirstTime(key: string, value: unknown, { parent }: Of, now: Date): boolean {
  return parent.metadata.annotations?.[key] === undefined && Date.parse(String(value)) <= now.getTime();
}

function addressesOf(sandbox: KubeObject): unknown {
  const { status } = sandbox;
  return isObject(status) ? status["podIPs"] ?? [] : [];
}
