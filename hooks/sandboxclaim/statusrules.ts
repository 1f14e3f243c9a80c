/**
 * What a claim's status and annotations may say, for the guard. A claim ends by its conditions; clients connect to the Sandbox
 * that it names. @module
 */
import type { SandboxClaim } from "../../packages/api/sandboxclaim.ts";
import { readClaimProblem } from "../../packages/api/claimproblem.ts";
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

/** The conditions that need proof: what a claim says about its Sandbox, that Sandbox says, since the same time. */
export const evidence: Evidence<SandboxClaim> = {
  "Finished True": (saying) => isTheirs(saying) || (saying.isOld && isExpired(saying)),
  "Ready True": isTheirs,
  "Ready Absent": () => false,
  // The binder gives a claim another Sandbox by some of these words, and clients give up on others.
  "Ready False": (saying) => isTheirs(saying) || hasCause(saying),
  // Whatever a Sandbox says is copied, this too; nothing goes by it, as hook and keeper look at the time.
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
    // The Sandbox is one that is seen to be the claim's; its addresses are that one's, and there as soon as it is Ready.
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
    [FIRST_READY_ANNOTATION]: (value, observed, now) =>
      value === "unknown" || isFirstTime(FIRST_READY_ANNOTATION, value, observed, now),
  },
};

/**
 * Tells whether a claim that does not copy its Sandbox's Ready has a cause of its own for these words.
 *
 * | reason | cause |
 * |---|---|
 * | ClaimExpired, SandboxExpired | see above |
 * | SandboxMissing | there is no Sandbox |
 * | SandboxNotReady | the Sandbox is not Ready, has no address, is being deleted, or is not the one that the claim has shown |
 * | InvalidMetadata, ReconcilerError | the claim asks for metadata |
 * | any other | there is no Sandbox, and keeper or binder have said so |
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
  if (isMetadata) return true;
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

/** By what is observed: a `Finished` that the answer itself says does not count. */
function isExpired({ observed: { parent }, now }: Said): boolean {
  return (expiryTime(parent) ?? Infinity) <= now.getTime();
}

function sayingsOf({ children }: Of, type: string): Condition[] {
  return listAll(children).flatMap((sandbox) => findCondition(conditionsOf(sandbox), type) ?? []);
}

/** A first time is noted once. */
function isFirstTime(key: string, value: unknown, { parent }: Of, now: Date): boolean {
  return parent.metadata.annotations?.[key] === undefined && Date.parse(String(value)) <= now.getTime();
}

function addressesOf(sandbox: KubeObject): unknown {
  const { status } = sandbox;
  return isObject(status) ? status["podIPs"] ?? [] : [];
}
