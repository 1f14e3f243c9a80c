/** What a claim says: its status, which is its Sandbox and how that is, by rules in order of precedence, and its annotations. @module */
import type { ClaimProblem } from "../../packages/api/claimproblem.ts";
import type { Sandbox } from "../../packages/api/sandbox.ts";
import type { ClaimReadyReason, SandboxClaim, SandboxClaimStatus } from "../../packages/api/sandboxclaim.ts";
import { assignedAt, isEnd, isFinal } from "../../packages/api/claims/binding.ts";
import type { Decorated } from "../../packages/webhook/metacontroller.ts";
import { isRefusedWrite, METADATA_NOT_APPLIED } from "../../packages/api/claims/refusedwrite.ts";
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

/** Computes the status: name, addresses and Ready of the Sandbox in one piece. Conditions are in order of type. */
export function computeStatus(situation: Situation, now: Date): SandboxClaimStatus {
  const { claim, sandbox, isExpired } = situation;
  // The Sandbox's; where that is gone after expiry, the claim's own stays.
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

/** What a claim's Ready depends on. */
export interface Situation {
  claim: SandboxClaim;
  sandbox: Sandbox | undefined;
  isExpired: boolean;
  problem: ClaimProblem | undefined;
  /** Whether the Sandbox lacks Pod metadata that the claim asks for. @default {false} */
  isMetadataOutstanding?: boolean | undefined;
}

/**
 * Decides Ready. Source: Agent Sandbox API, section 3.5.7.
 *
 * | what holds | reason |
 * |---|---|
 * | the claim has expired | ClaimExpired; the message says if its Sandbox cannot be deleted |
 * | a problem with what it asks for, or with changing its Sandbox | the problem's |
 * | no Sandbox | SandboxMissing |
 * | the Sandbox is being deleted | SandboxNotReady |
 * | the Sandbox has expired on its own | SandboxExpired |
 * | the Sandbox says Ready but its Pod has no address | SandboxNotReady |
 * | the Sandbox has a Ready condition | that, word for word and with its time; the message says if it does not have the claim's metadata yet |
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

function ownVerdict({ sandbox, isExpired, problem }: Situation): ReadyVerdict | undefined {
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
 * Returns the annotations of a claim with this Sandbox, or without one, see {@link annotationsOf}; undefined: the claim has
 * them all.
 *
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
 * Notes which Sandbox the claim has, when the claim was first seen, and when it first was Ready; times once each.
 *
 * A claim that was Ready before anybody took note is `unknown`. Source: Agent Sandbox API, section 3.5.8.
 *
 * @param sandbox undefined: it has none
 * @param status the one that is about to be written
 * @param seenAt when the claim was first seen; undefined: when it was given the Sandbox, as far as anybody knows
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
    ...(annotations[FIRST_OBSERVED_ANNOTATION] === undefined
      ? { [FIRST_OBSERVED_ANNOTATION]: (seenAt ?? seenBefore(sandbox, now)).toISOString() }
      : {}),
    ...(isReady && annotations[FIRST_READY_ANNOTATION] === undefined
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
 * Reports name, addresses and Ready of the claim's Sandbox, at once.
 *
 * Metacontroller writes the status of an answer before the annotations of the same answer, and clients read the annotations as
 * soon as the claim is Ready. The hook therefore reports Ready only when it observes the annotations.
 */
export function reported(situation: Situation & { sandbox: Sandbox }, now: Date): Answer {
  const { claim, sandbox, isExpired } = situation;
  const status = computeStatus(situation, now);
  if (!isExpired) {
    // What has reported its state once never reports none: the claim names it because of what it has reported.
    if (findCondition(sandbox.status?.conditions, "Ready") === undefined) return {};
    if (isOlderView(claim, sandbox, now)) return { resyncAfterSeconds: OLDER_VIEW_MS / 1000 / 2 };
  }
  const annotations = annotationsOf(claim, sandbox, status, now);
  const isReady = findCondition(status.conditions, "Ready")?.status === "True";
  return isReady && lacks(claim, annotations) ? { annotations } : { status, annotations };
}

/** For how long after a claim has reported something a view of its Sandbox may be from before that. */
const OLDER_VIEW_MS = 4000;

/**
 * Tells whether what is seen of the Sandbox may be older than what the claim says of it: that it is Ready, or has come to its
 * end, since the same second or a later one. Metacontroller watches claims and Sandboxes separately, and times are whole
 * seconds. Clocks differ, so that no such doubt lasts.
 */
function isOlderView(claim: SandboxClaim, { status }: Sandbox, now: Date): boolean {
  const said = findCondition(claim.status?.conditions, "Ready");
  const seen = findCondition(status?.conditions, "Ready");
  if (!said || !seen || (said.status === seen.status && said.reason === seen.reason)) return false;
  // What has come to its end was not Ready after it.
  const isLater = said.status === "True" ? seen.status !== "False" || isEnd(status?.conditions) : !isFinal(claim);
  if (isLater) return false;
  const since = Date.parse(said.lastTransitionTime);
  return Date.parse(seen.lastTransitionTime) <= since && Math.abs(now.getTime() - since) < OLDER_VIEW_MS;
}
