/** What must be observed where a claim's status says these: it ends by them. @module */
import type { SandboxClaim } from "../../packages/api/sandboxclaim.ts";
import { expiryTime } from "../../packages/api/expiry.ts";
import { type Condition, findCondition } from "../../packages/api/objects/conditions.ts";
import { conditionsOf, type Evidence, isSame, type Saying } from "../../packages/webhook/evidence.ts";

/** How a Sandbox is says that Sandbox, and since when. */
export const evidence: Evidence<SandboxClaim> = {
  "Finished True": (saying) => isTheirs(saying) || (saying.isOld && isExpired(saying)),
  "Ready True": isTheirs,
  // Whatever a Sandbox says is copied, this too; nothing goes by it, as hook and keeper look at the time.
  "Ready False ClaimExpired": (saying) => isExpired(saying) || isTheirs(saying),
  "Ready False InvalidConfiguration": isTheirs,
  "Ready False PodFailed": isTheirs,
  "Ready False PodSucceeded": isTheirs,
  "Ready False SandboxExpired": ({ said, observed }) =>
    sayingsOf(observed, said.type).some(({ reason }) => reason === said.reason),
};

type Of = Saying<SandboxClaim>;

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
