/** What must be observed where a claim's status says these: it ends by them. @module */
import type { SandboxClaim } from "../../packages/api/sandboxclaim.ts";
import { expiryTime } from "../../packages/api/expiry.ts";
import { readClaimProblem } from "../../packages/api/claimproblem.ts";
import type { KubeObject } from "../../packages/api/objects/objects.ts";
import { type Condition, findCondition } from "../../packages/api/objects/conditions.ts";
import { conditionsOf, type Evidence, isSame, type Saying } from "../../packages/webhook/evidence.ts";

/** How a Sandbox is says that Sandbox, and since when. */
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

type Of = Saying<SandboxClaim>;

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
function hasCause({ said: { reason }, observed }: Of): boolean {
  const { spec, metadata } = observed.parent;
  const sandboxes = Object.values(observed.children).flatMap((byName) => Object.values(byName));
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

function isTheirs({ said, observed }: Of): boolean {
  return sayingsOf(observed, said.type).some((theirs) => isSame(said, theirs));
}

/** By what is observed: a `Finished` that the answer itself says does not count. */
function isExpired({ observed: { parent }, now }: Of): boolean {
  return (expiryTime(parent) ?? Infinity) <= now.getTime();
}

function sayingsOf({ children }: Of["observed"], type: string): Condition[] {
  const sandboxes = Object.values(children).flatMap((byName) => Object.values(byName));
  return sandboxes.flatMap((sandbox) => findCondition(conditionsOf(sandbox), type) ?? []);
}
