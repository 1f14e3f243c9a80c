/** The Ready and Finished conditions of a claim: rules in order of precedence, the first that holds decides. @module */
import type { ClaimProblem } from "../../api/claimproblem.ts";
import type { Sandbox } from "../../api/sandbox.ts";
import type { ClaimReadyReason, SandboxClaim } from "../../api/sandboxclaim.ts";
import { type Condition, findCondition, stamp, type Verdict } from "../../lib/conditions.ts";

type ReadyVerdict = Verdict<"Ready", ClaimReadyReason>;

/** What a claim's Ready depends on. */
export interface Situation {
  claim: SandboxClaim;
  sandbox: Sandbox | undefined;
  isExpired: boolean;
  problem: ClaimProblem | undefined;
}

/**
 * Decides Ready. Source: Agent Sandbox API, section 3.5.7.
 *
 * | what holds | reason |
 * |---|---|
 * | the claim has expired | ClaimExpired |
 * | a problem with what it asks for | the problem's |
 * | no Sandbox | SandboxMissing |
 * | the Sandbox is being deleted | SandboxNotReady |
 * | the Sandbox has expired on its own | SandboxExpired |
 * | the Sandbox says Ready but its Pod has no address | SandboxNotReady |
 * | the Sandbox has a Ready condition | that, word for word and with its time |
 * | it has none yet | SandboxNotReady |
 */
export function readyCondition(situation: Situation, now: Date): Condition {
  const { claim, sandbox } = situation;
  const { generation } = claim.metadata;
  const verdict = ownVerdict(situation);
  const theirs = findCondition(sandbox?.status?.conditions, "Ready");
  if (verdict || !theirs) {
    return stamp(
      verdict ?? notReady("SandboxNotReady", "Sandbox is not ready"),
      claim.status?.conditions,
      generation,
      now,
    );
  }
  const { type, status, reason, message, lastTransitionTime } = theirs;
  return {
    type,
    status,
    reason,
    message,
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    lastTransitionTime,
  };
}

/** Copies Finished from the Sandbox; where that is gone after expiry, the claim's own stays. */
export function finishedCondition({ claim, sandbox, isExpired }: Situation): Condition | undefined {
  const theirs = findCondition(sandbox?.status?.conditions, "Finished");
  return sandbox || !isExpired ? theirs : findCondition(claim.status?.conditions, "Finished");
}

function ownVerdict({ sandbox, isExpired, problem }: Situation): ReadyVerdict | undefined {
  if (isExpired) return notReady("ClaimExpired", "Claim expired. Sandbox cleanup initiated.");
  if (problem) return notReady(problem.reason, problem.message);
  if (!sandbox) return notReady("SandboxMissing", "Sandbox does not exist");
  if (sandbox.metadata.deletionTimestamp !== undefined) return notReady("SandboxNotReady", "Sandbox is being deleted");
  const theirs = findCondition(sandbox.status?.conditions, "Ready");
  if (theirs?.reason === "SandboxExpired") {
    return notReady("SandboxExpired", "Underlying Sandbox resource has expired independently of the Claim.");
  }
  const isUnreachable = theirs?.status === "True" && (sandbox.status?.podIPs ?? []).length === 0;
  return isUnreachable ? notReady("SandboxNotReady", "Sandbox is not ready") : undefined;
}

function notReady(reason: ClaimReadyReason, message: string): ReadyVerdict {
  return { type: "Ready", status: "False", reason, message };
}
