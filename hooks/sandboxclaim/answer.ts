/** What a bound claim says: how its Sandbox is, and since when it has it. @module */
import type { Sandbox } from "../../packages/api/sandbox.ts";
import type { SandboxClaim, SandboxClaimStatus } from "../../packages/api/sandboxclaim.ts";
import { isEnd, isFinal } from "../../packages/api/claims/binding.ts";
import { findCondition } from "../../packages/api/objects/conditions.ts";
import type { Decorated } from "../../packages/webhook/metacontroller.ts";
import { computeStatus, lacks, notesOf, type Situation } from "./status.ts";

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
  const annotations = notesOf(claim, sandbox, status, now);
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
