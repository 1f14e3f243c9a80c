/**
 * Computes the status and the annotations of a claim: its Sandbox, whether it is Ready, and when it first was. @module
 */
import type { ClaimProblem } from "../../packages/api/claims/problem.ts";
import type { Sandbox } from "../../packages/api/sandbox.ts";
import type { ClaimReadyReason, SandboxClaim, SandboxClaimStatus } from "../../packages/api/sandboxclaim.ts";
import { assignedAt, isEnd, isFinal } from "../../packages/api/claims/binding.ts";
import type { Decorated } from "../../packages/webhook/metacontroller.ts";
import { isRefusedWrite, METADATA_NOT_APPLIED } from "../../packages/api/keeperreports.ts";
import {
  type Condition,
  findCondition,
  fitCondition,
  stamp,
  type Verdict,
} from "../../packages/api/objects/conditions.ts";
import {
  FIRST_OBSERVED_ANNOTATION,
  FIRST_READY_ANNOTATION,
  SANDBOX_NAME_ANNOTATION,
} from "../../packages/api/objects/keys.ts";

const OUR_TYPES = new Set(["Finished", "Ready"]);

/** Computes the status: name, addresses and Ready of the Sandbox, always together. Conditions are sorted by type. */
export function computeStatus(situation: Situation, now: Date): SandboxClaimStatus {
  const { claim, sandbox, isExpired } = situation;
  // The Sandbox's conditions. If the Sandbox no longer exists after the expiry, the claim keeps its own.
  const { conditions } = (sandbox || !isExpired ? sandbox : claim)?.status ?? {};
  const finished = findCondition(conditions, "Finished");
  const foreign = (claim.status?.conditions ?? []).filter(({ type }) => !OUR_TYPES.has(type)).map(fitCondition);
  const podIPs = sandbox?.status?.podIPs ?? [];
  return {
    conditions: [...(finished ? [fitCondition(finished)] : []), readyCondition(situation, now), ...foreign],
    ...(sandbox ? { sandbox: { name: sandbox.metadata.name, ...(podIPs.length > 0 ? { podIPs } : {}) } } : {}),
  };
}

type ReadyVerdict = Verdict<"Ready", ClaimReadyReason>;

/** The observed state on which a claim's Ready condition depends. */
export interface Situation {
  claim: SandboxClaim;
  sandbox: Sandbox | undefined;
  isExpired: boolean;
  problem: ClaimProblem | undefined;
  /** Whether the Sandbox lacks Pod metadata that the claim asks for. @default {false} */
  isMetadataOutstanding?: boolean | undefined;
}

/**
 * Computes Ready. Source: Agent Sandbox API, section 3.5.7.
 *
 * | if | reason |
 * |---|---|
 * | the claim has expired | ClaimExpired; the message reports if its Sandbox cannot be deleted |
 * | what the claim asks for is a problem, or its Sandbox cannot be changed | the problem's reason |
 * | there is no Sandbox | SandboxMissing |
 * | the Sandbox is being deleted | SandboxNotReady |
 * | the Sandbox itself has expired | SandboxExpired |
 * | the Sandbox is Ready, but its Pod has no address | SandboxNotReady |
 * | the Sandbox has a Ready condition | a copy of that condition, with its time; the message reports if the claim's metadata is not applied yet |
 * | the Sandbox has no Ready condition yet | SandboxNotReady |
 */
export function readyCondition(
  situation: Omit<Situation, "claim"> & { claim: Pick<SandboxClaim, "metadata" | "status"> },
  now: Date,
): Condition {
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
  const behind = situation.isMetadataOutstanding && theirs.status === "True" ? METADATA_NOT_APPLIED : "";
  const { type, status, reason, message, lastTransitionTime } = fitCondition({
    ...theirs,
    message: theirs.message + behind,
  });
  return {
    type,
    status,
    reason,
    message,
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    lastTransitionTime,
  };
}

function ownVerdict({ sandbox, isExpired, problem }: Omit<Situation, "claim">): ReadyVerdict | undefined {
  if (isExpired) {
    const more = problem && isRefusedWrite(problem.message) ? ` ${problem.message}` : "";
    return notReady("ClaimExpired", `Claim expired. Sandbox cleanup initiated.${more}`);
  }
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

/**
 * Returns the annotations that a claim should have, see {@link annotationsOf}; undefined: the claim has them all.
 *
 * @param sandbox undefined: the claim has no Sandbox
 * @param seenAt when the claim was first seen, in milliseconds since the epoch
 */
export function missingAnnotations(
  claim: SandboxClaim,
  sandbox: Sandbox | undefined,
  now: Date,
  seenAt: number,
): Record<string, string> | undefined {
  const status = computeStatus({ claim, sandbox, isExpired: false, problem: undefined }, now);
  const annotations = annotationsOf(claim, sandbox, status, now, new Date(seenAt));
  return lacks(claim, annotations) ? annotations : undefined;
}

/**
 * Returns annotations with the name of the claim's Sandbox, when the claim was first seen, and when it first was Ready.
 * Each time is written only once.
 *
 * If the claim was Ready before the annotation existed, the time is `unknown`. Source: Agent Sandbox API, section
 * 3.5.8.
 *
 * @param sandbox undefined: the claim has no Sandbox
 * @param status the status that is about to be written
 * @param seenAt when the claim was first seen; undefined: the time at which it was bound, or now if that is not known
 */
function annotationsOf(
  { metadata, status: before }: SandboxClaim,
  sandbox: Sandbox | undefined,
  status: SandboxClaimStatus,
  now: Date,
  seenAt?: Date,
): Record<string, string> {
  const { annotations = {} } = metadata;
  const isReady = findCondition(status.conditions, "Ready")?.status === "True";
  const wasReady = findCondition(before?.conditions, "Ready")?.status === "True";
  return {
    ...(sandbox ? { [SANDBOX_NAME_ANNOTATION]: sandbox.metadata.name } : {}),
    ...(annotations[FIRST_OBSERVED_ANNOTATION]
      ? {}
      : { [FIRST_OBSERVED_ANNOTATION]: seenBefore(sandbox, seenAt ?? now).toISOString() }),
    ...(isReady && !annotations[FIRST_READY_ANNOTATION]
      ? { [FIRST_READY_ANNOTATION]: wasReady ? "unknown" : now.toISOString() }
      : {}),
  };
}

/** Tells whether a claim lacks one of these annotations, or has another value. `null`: the claim must not have it. */
function lacks(
  { metadata: { annotations = {} } }: SandboxClaim,
  wanted: Record<string, string | null>,
): boolean {
  return Object.entries(wanted).some(([key, value]) => (annotations[key] ?? null) !== value);
}

function seenBefore(sandbox: Sandbox | undefined, now: Date): Date {
  const assigned = sandbox ? assignedAt(sandbox) : NaN;
  return assigned <= now.getTime() ? new Date(assigned) : now;
}

type Answer = Omit<Decorated<SandboxClaimStatus>, "attachments">;

/**
 * Computes an answer with name, addresses and Ready of the claim's Sandbox.
 *
 * Metacontroller writes the status of an answer before the annotations of the same answer, and clients read the
 * annotations as soon as the claim is Ready. The hook therefore reports Ready only when it observes the annotations.
 */
export function reported(situation: Situation & { sandbox: Sandbox }, now: Date): Answer {
  const { claim, sandbox, isExpired } = situation;
  const status = computeStatus(situation, now);
  // The claim was bound because its Sandbox had a Ready condition, and a Sandbox never removes this condition. If the
  // observed Sandbox has none, it comes from a stale cache.
  if (!isExpired && findCondition(sandbox.status?.conditions, "Ready") === undefined) return {};
  // If the claim has expired because its Sandbox has finished, an older view would deny that it has.
  if (isOlderView(claim, sandbox, now)) return { resyncAfterSeconds: OLDER_VIEW_MS / 1000 / 2 };
  const annotations = annotationsOf(claim, sandbox, status, now);
  const isReady = findCondition(status.conditions, "Ready")?.status === "True";
  return isReady && lacks(claim, annotations) ? { annotations } : { status, annotations };
}

/** How long after a change of the claim's Ready condition the observed Sandbox may still be older, in milliseconds. */
const OLDER_VIEW_MS = 4000;

/**
 * Tells whether the observed Sandbox may be older than the claim's status. This is so if the claim reports that the
 * Sandbox is Ready, or has ended, and the Sandbox does not, and the claim's transition time is not earlier.
 * Metacontroller watches claims and Sandboxes separately, and times have whole seconds. Because clocks differ, the
 * answer is no after `OLDER_VIEW_MS`.
 */
function isOlderView(claim: SandboxClaim, { status }: Sandbox, now: Date): boolean {
  const said = findCondition(claim.status?.conditions, "Ready");
  const seen = findCondition(status?.conditions, "Ready");
  if (!said || !seen || (said.status === seen.status && said.reason === seen.reason)) return false;
  // A Sandbox that has ended cannot become Ready later.
  const isLater = said.status === "True" ? seen.status !== "False" || isEnd(status?.conditions) : !isFinal(claim);
  if (isLater) return false;
  const finished = findCondition(claim.status?.conditions, "Finished");
  // A change from one reason to another keeps the time of Ready, but sets that of Finished.
  const since = Math.max(
    Date.parse(said.lastTransitionTime),
    finished?.status === "True" ? Date.parse(finished.lastTransitionTime) : 0,
  );
  return Date.parse(seen.lastTransitionTime) <= since && Math.abs(now.getTime() - since) < OLDER_VIEW_MS;
}
