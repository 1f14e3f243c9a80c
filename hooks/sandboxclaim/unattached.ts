/** What a claim without a Sandbox says: it waits, it cannot be served, it has lost the one it had, or it has expired. @module */
import { readClaimProblem } from "../../api/claimproblem.ts";
import type { SandboxClaim, SandboxClaimStatus } from "../../api/sandboxclaim.ts";
import { isFinal } from "../../claims/binding.ts";
import { metadataProblem } from "../../claims/podmetadata.ts";
import { FIRST_OBSERVED_ANNOTATION, FIRST_READY_ANNOTATION } from "../../lib/keys.ts";
import type { Decorated } from "../../lib/metacontroller.ts";
import type { ClaimConfig } from "./config.ts";
import type { ExpiryPhase } from "./expiry.ts";
import { notesOf } from "./notes.ts";
import { computeStatus } from "./status.ts";

type Answer = Omit<Decorated<SandboxClaimStatus>, "attachments">;

/** How old a binding must be before a missing Sandbox is believed: the engine's views of claims and Sandboxes differ in age. */
const MISSING_MS = 3000;

/**
 * Decides for a claim that no Sandbox belongs to.
 *
 * | what holds, the first that does | status |
 * |---|---|
 * | it has expired | ClaimExpired, no Sandbox |
 * | its Sandbox came to an end and was shown to have | as it is |
 * | it was given a Sandbox a moment ago | as it is |
 * | it had a Sandbox | SandboxMissing, no Sandbox: the binder gives it another |
 * | it cannot be served, or has waited for long: the keeper knows | the problem |
 * | it has never said anything | none |
 * | else | SandboxMissing |
 */
export function unattached(claim: SandboxClaim, phase: ExpiryPhase, { labelDomains }: ClaimConfig, now: Date): Answer {
  const { metadata } = claim;
  const isExpired = phase !== "none";
  const hadSandbox = Boolean(claim.status?.sandbox?.name);
  if (hadSandbox && !isExpired) {
    if (isFinal(claim)) return {};
    const left = bindingTime(claim) + MISSING_MS - now.getTime();
    if (left > 0) return { resyncAfterSeconds: left / 1000 };
  }
  const problem = hadSandbox
    ? undefined
    : metadataProblem(claim.spec.additionalPodMetadata, labelDomains) ?? readClaimProblem(metadata);
  if (claim.status === undefined && !isExpired && !problem) return {};
  const status = computeStatus({ claim, sandbox: undefined, isExpired, problem }, now);
  return { status, annotations: notesOf(claim, undefined, status, now) };
}

/** When the claim was given its Sandbox, as far as it tells, in milliseconds since the epoch; 0: it does not. */
function bindingTime({ metadata: { annotations = {} } }: SandboxClaim): number {
  const times = [FIRST_OBSERVED_ANNOTATION, FIRST_READY_ANNOTATION].map((key) => Date.parse(annotations[key] ?? ""));
  return Math.max(0, ...times.filter((time) => !Number.isNaN(time)));
}
