/** What a claim with a Sandbox says: that Sandbox, how it is, and that the claim is bound. @module */
import type { ClaimProblem } from "../../api/claimproblem.ts";
import type { Sandbox } from "../../api/sandbox.ts";
import type { SandboxClaim, SandboxClaimStatus } from "../../api/sandboxclaim.ts";
import { findCondition } from "../../lib/conditions.ts";
import type { Decorated } from "../../lib/metacontroller.ts";
import type { ExpiryPhase } from "./expiry.ts";
import type { ClaimMemory } from "./memory.ts";
import { boundNotes, timeNotes } from "./notes.ts";
import { quietLeft } from "./quiet.ts";
import { computeStatus } from "./status.ts";

type Answer = Omit<Decorated<SandboxClaimStatus>, "attachments">;

/**
 * Decides for a claim that has a Sandbox.
 *
 * Name, addresses and Ready are written at once. A Sandbox that is not Ready is not shown while the claim is
 * young: most are by then, and the claim has one status in its life instead of three.
 *
 * @param problem why the Sandbox does not follow the claim; undefined: it does
 */
export function attached(
  claim: SandboxClaim,
  sandbox: Sandbox,
  phase: ExpiryPhase,
  problem: ClaimProblem | undefined,
  memory: ClaimMemory,
  now: Date,
): Answer {
  const { labels = {}, annotations = {} } = boundNotes(sandbox);
  // What is published stays as it is until Sandbox or claim are gone.
  if (phase === "published") return { labels };
  const status = computeStatus({ claim, sandbox, isExpired: phase === "due", problem }, now);
  const ready = findCondition(status.conditions, "Ready");
  const left = quietLeft(claim, memory, now);
  const isQuiet = claim.status === undefined && left > 0 && ready?.reason !== undefined && WAITS.has(ready.reason);
  const shown = isQuiet ? undefined : status;
  return {
    ...(shown ? { status: shown } : {}),
    labels,
    annotations: { ...annotations, ...timeNotes(claim, shown, memory, now) },
    ...(isQuiet ? { resyncAfterSeconds: left / 1000 } : {}),
  };
}

/** Reasons that go away by themselves, most often within the second. */
const WAITS = new Set(["SandboxNotReady", "DependenciesNotReady"]);
