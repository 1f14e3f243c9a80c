/** What a claim with a Sandbox says: that Sandbox, how it is, and since when it has it. @module */
import type { ClaimProblem } from "../../api/claimproblem.ts";
import type { Sandbox } from "../../api/sandbox.ts";
import type { SandboxClaim, SandboxClaimStatus } from "../../api/sandboxclaim.ts";
import { leftToBinder } from "../../claims/binding.ts";
import { findCondition } from "../../lib/conditions.ts";
import type { Decorated } from "../../lib/metacontroller.ts";
import type { ExpiryPhase } from "./expiry.ts";
import { notesOf } from "./notes.ts";
import { computeStatus } from "./status.ts";

type Answer = Omit<Decorated<SandboxClaimStatus>, "attachments">;

/**
 * Decides for a claim that has a Sandbox.
 *
 * Name, addresses and Ready are written at once. The first status is the binder's where the Sandbox is Ready by then; and
 * a Sandbox that has said nothing itself is not shown: most are Ready soon, and the claim has one status in its life
 * instead of three.
 *
 * @param problem why the Sandbox does not follow the claim; undefined: it does
 */
export function attached(
  claim: SandboxClaim,
  sandbox: Sandbox,
  phase: ExpiryPhase,
  problem: ClaimProblem | undefined,
  now: Date,
): Answer {
  // What is published stays as it is until Sandbox or claim are gone.
  if (phase === "published") return {};
  const isDue = phase === "due";
  const isSilent = claim.status === undefined && findCondition(sandbox.status?.conditions, "Ready") === undefined;
  const binders = leftToBinder(claim, sandbox, now.getTime());
  if (!isDue && (isSilent || binders.status)) return {};
  const status = computeStatus({ claim, sandbox, isExpired: isDue, problem }, now);
  return { status, ...(binders.annotations ? {} : { annotations: notesOf(claim, sandbox, status, now) }) };
}
