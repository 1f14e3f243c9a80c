/** What a claim without a Sandbox says: it waits, it cannot be served, it has lost the one it had, or it has expired. @module */
import { readClaimProblem } from "../../api/claimproblem.ts";
import type { SandboxClaim, SandboxClaimStatus } from "../../api/sandboxclaim.ts";
import { metadataProblem } from "../../claims/podmetadata.ts";
import { CLAIM_BOUND_LABEL } from "../../lib/keys.ts";
import type { Decorated } from "../../lib/metacontroller.ts";
import type { ClaimConfig } from "./config.ts";
import type { ExpiryPhase } from "./expiry.ts";
import { isFinal } from "./finality.ts";
import type { ClaimMemory } from "./memory.ts";
import { timeNotes } from "./notes.ts";
import { quietLeft } from "./quiet.ts";
import { computeStatus } from "./status.ts";

type Answer = Omit<Decorated<SandboxClaimStatus>, "attachments">;

/** How long a Sandbox must be missing before it is believed: the engine's views of claims and Sandboxes differ in age. */
const MISSING_MS = 2000;

/**
 * Decides for a claim that no Sandbox belongs to.
 *
 * | what holds, the first that does | status | bound |
 * |---|---|---|
 * | it has expired | ClaimExpired, no Sandbox | yes: no pool serves it |
 * | its Sandbox came to an end and was shown to have | as it is | as it is |
 * | it had a Sandbox until a moment ago | as it is | as it is |
 * | it had a Sandbox | SandboxMissing, no Sandbox | no: the pool gives it another |
 * | it cannot be served | the problem | no |
 * | it is as young as quiet.ts says and has no status | none | no |
 * | else | SandboxMissing | no |
 */
export function unattached(
  claim: SandboxClaim,
  phase: ExpiryPhase,
  memory: ClaimMemory,
  { labelDomains }: ClaimConfig,
  now: Date,
): Answer {
  const isExpired = phase !== "none";
  const isBound = claim.metadata.labels?.[CLAIM_BOUND_LABEL] !== undefined || Boolean(claim.status?.sandbox?.name);
  if (isBound && !isExpired) {
    if (isFinal(claim)) return {};
    memory.missingSince ??= now.getTime();
    const left = memory.missingSince + MISSING_MS - now.getTime();
    if (left > 0) return { resyncAfterSeconds: left / 1000 };
  }
  const problem = isBound
    ? undefined
    : metadataProblem(claim.spec.additionalPodMetadata, labelDomains) ?? readClaimProblem(claim.metadata);
  const left = quietLeft(claim, memory, now);
  if (!isBound && !isExpired && !problem && left > 0 && claim.status === undefined) {
    return { resyncAfterSeconds: left / 1000 };
  }
  const status = computeStatus({ claim, sandbox: undefined, isExpired, problem }, now);
  return {
    status,
    labels: { [CLAIM_BOUND_LABEL]: isExpired ? "true" : null },
    annotations: timeNotes(claim, status, memory, now),
  };
}
