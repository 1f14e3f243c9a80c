/** The SandboxClaim hook: reports what a bound claim's Sandbox is like, has it follow the claim, and lets it go in time. Pure. @module */
import { type Sandbox, sandboxSchema } from "../../packages/api/sandbox.ts";
import type { SandboxClaim, SandboxClaimStatus } from "../../packages/api/sandboxclaim.ts";
import { boundSandbox } from "../../packages/api/claims/binding.ts";
import { refusedWriteProblem } from "../../packages/api/claims/refusedwrite.ts";
import { expiryTime } from "../../packages/api/expiry.ts";
import { childKey, type Decorated, listKind, type Observed } from "../../packages/webhook/metacontroller.ts";
import { soonestResync } from "../../packages/webhook/resync.ts";
import { unchanged } from "../../packages/webhook/unchanged.ts";
import { reported } from "./answer.ts";
import { keepSandbox } from "./attachment.ts";
import { ANOTHER, EXPIRED } from "./deletionreasons.ts";
import { expiryPhase } from "./expiry.ts";
import type { ClaimConfig } from "./options.ts";
import { computeStatus } from "./status.ts";

const SANDBOXES = "Sandbox.agents.x-k8s.io/v1beta1";
/** Below this a timer fires before the clock has moved on. */
const SHORTEST_WAIT_SECONDS = 0.05;

/**
 * Decides status and annotations of a claim, and what becomes of its Sandboxes.
 *
 * | claim | answer |
 * |---|---|
 * | not bound, or being deleted | nothing changes: it is the binder's, or the garbage collector's |
 * | bound | what its Sandbox is like; other Sandboxes that it controls go |
 * | expired, but its status does not say so | the status says so, and the Sandbox stays |
 * | expired, and its status says so | with Retain the Sandbox goes; else the keeper deletes the claim |
 *
 * @throws {RangeError} if the controller lacks the attachment rule
 */
export function syncSandboxClaim(
  observed: Observed<SandboxClaim>,
  now: Date,
  config: ClaimConfig,
): Decorated<SandboxClaimStatus> {
  const claim = observed.parent;
  const sandboxes = listKind(observed.children, SANDBOXES, sandboxSchema);
  const bound = boundSandbox(claim, sandboxes);
  if (!bound || claim.metadata.deletionTimestamp !== undefined) return { attachments: sandboxes.map(unchanged) };
  const extra = sandboxes.filter((sandbox) => sandbox !== bound);
  const deletions = Object.fromEntries(extra.map((sandbox) => [childKey(sandbox), ANOTHER]));
  const phase = expiryPhase(claim, now);
  if (phase === "published") {
    const isRetained = claim.spec.lifecycle?.shutdownPolicy === "Retain";
    if (!isRetained) return { attachments: [unchanged(bound)], deletions };
    return { attachments: [], deletions: { ...deletions, [childKey(bound)]: EXPIRED }, ...cleanup(claim, bound, now) };
  }
  const { desired, problem, isMetadataOutstanding } = keepSandbox(claim, bound, config);
  const answer = reported({ claim, sandbox: bound, isExpired: phase === "due", problem, isMetadataOutstanding }, now);
  const resyncAfterSeconds = soonestResync(answer.resyncAfterSeconds, secondsToExpiry(claim, now));
  return {
    ...answer,
    attachments: [desired],
    deletions,
    ...(resyncAfterSeconds === undefined ? {} : { resyncAfterSeconds }),
  };
}

/** Says of an expired claim if its Sandbox cannot be deleted. */
function cleanup(claim: SandboxClaim, sandbox: Sandbox, now: Date): { status?: SandboxClaimStatus } {
  const problem = refusedWriteProblem(sandbox.metadata, "delete");
  return problem ? { status: computeStatus({ claim, sandbox, isExpired: true, problem }, now) } : {};
}

function secondsToExpiry(claim: SandboxClaim, now: Date): number | undefined {
  const expiry = expiryTime(claim);
  return expiry === undefined ? undefined : Math.max((expiry - now.getTime()) / 1000, SHORTEST_WAIT_SECONDS);
}
