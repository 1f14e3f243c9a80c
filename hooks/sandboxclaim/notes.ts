/** Annotations that a claim gets as it is given a Sandbox: which one, and when what was seen. @module */
import type { Sandbox } from "../../api/sandbox.ts";
import type { SandboxClaim, SandboxClaimStatus } from "../../api/sandboxclaim.ts";
import { assignedAt } from "../../claims/binding.ts";
import { findCondition } from "../../lib/conditions.ts";
import { FIRST_OBSERVED_ANNOTATION, FIRST_READY_ANNOTATION, SANDBOX_NAME_ANNOTATION } from "../../lib/keys.ts";

/**
 * Notes which Sandbox the claim has, when the claim was first seen, and when it first was Ready; times once each.
 *
 * A claim that was Ready before anybody took note is `unknown`. Source: Agent Sandbox API, section 3.5.8.
 *
 * @param sandbox undefined: it has none
 * @param status the one that is about to be written
 * @param seenAt when the claim was first seen; by default when it was given the Sandbox, as far as anybody knows
 */
export function notesOf(
  { metadata, status: before }: SandboxClaim,
  sandbox: Sandbox | undefined,
  status: SandboxClaimStatus,
  now: Date,
  seenAt: Date = seenBefore(sandbox, now),
): Record<string, string> {
  const { annotations = {} } = metadata;
  const isReady = findCondition(status.conditions, "Ready")?.status === "True";
  const wasReady = findCondition(before?.conditions, "Ready")?.status === "True";
  return {
    ...(sandbox ? { [SANDBOX_NAME_ANNOTATION]: sandbox.metadata.name } : {}),
    ...(annotations[FIRST_OBSERVED_ANNOTATION] === undefined
      ? { [FIRST_OBSERVED_ANNOTATION]: seenAt.toISOString() }
      : {}),
    ...(isReady && annotations[FIRST_READY_ANNOTATION] === undefined
      ? { [FIRST_READY_ANNOTATION]: wasReady ? "unknown" : now.toISOString() }
      : {}),
  };
}

function seenBefore(sandbox: Sandbox | undefined, now: Date): Date {
  const assigned = sandbox ? assignedAt(sandbox) : NaN;
  return assigned <= now.getTime() ? new Date(assigned) : now;
}
