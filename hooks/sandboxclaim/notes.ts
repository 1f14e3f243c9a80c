/** Labels and annotations that the hook keeps on a claim: that it is bound, to what, and when what was seen. @module */
import type { Sandbox } from "../../api/sandbox.ts";
import type { SandboxClaim, SandboxClaimStatus } from "../../api/sandboxclaim.ts";
import { findCondition } from "../../lib/conditions.ts";
import {
  CLAIM_BOUND_LABEL,
  FIRST_OBSERVED_ANNOTATION,
  FIRST_READY_ANNOTATION,
  SANDBOX_NAME_ANNOTATION,
} from "../../lib/keys.ts";
import type { Decorated } from "../../lib/metacontroller.ts";
import type { ClaimMemory } from "./memory.ts";

type Notes = Pick<Decorated<never>, "labels" | "annotations">;

/** Takes the claim out of its pool's sight, and notes which Sandbox it has. */
export function boundNotes(sandbox: Sandbox): Notes {
  return {
    labels: { [CLAIM_BOUND_LABEL]: "true" },
    annotations: { [SANDBOX_NAME_ANNOTATION]: sandbox.metadata.name },
  };
}

/**
 * Notes when the claim was first seen and when it first was Ready, each once.
 *
 * A claim that was Ready before anybody took note is `unknown`. Source: Agent Sandbox API, section 3.5.8.
 *
 * @param status the one that is about to be written; undefined if none is
 */
export function timeNotes(
  { metadata, status: before }: SandboxClaim,
  status: SandboxClaimStatus | undefined,
  { firstSeen }: ClaimMemory,
  now: Date,
): Record<string, string> {
  const { annotations = {} } = metadata;
  const isReady = findCondition(status?.conditions, "Ready")?.status === "True";
  const wasReady = findCondition(before?.conditions, "Ready")?.status === "True";
  return {
    ...(annotations[FIRST_OBSERVED_ANNOTATION] === undefined
      ? { [FIRST_OBSERVED_ANNOTATION]: new Date(firstSeen).toISOString() }
      : {}),
    ...(isReady && annotations[FIRST_READY_ANNOTATION] === undefined
      ? { [FIRST_READY_ANNOTATION]: wasReady ? "unknown" : now.toISOString() }
      : {}),
  };
}
