/** The SandboxClaim hook: shows what the pool has given, follows the claim's wishes, and lets go in time. Pure. @module */
import { sandboxSchema } from "../../api/sandbox.ts";
import type { SandboxClaim, SandboxClaimStatus } from "../../api/sandboxclaim.ts";
import { expiryTime } from "../../claims/expirytime.ts";
import { WARM_POOL_REF_LABEL } from "../../lib/keys.ts";
import { childKey, type Decorated, listKind, type Observed } from "../../lib/metacontroller.ts";
import { unchanged } from "../../lib/unchanged.ts";
import { attached } from "./attached.ts";
import { keepSandbox } from "./attachment.ts";
import { chooseSandbox } from "./choice.ts";
import type { ClaimConfig } from "./config.ts";
import { type ExpiryPhase, expiryPhase } from "./expiry.ts";
import { type Memories, recall } from "./memory.ts";
import { recheckSeconds } from "./recheck.ts";
import { unattached } from "./unattached.ts";

const SANDBOXES = "Sandbox.agents.x-k8s.io/v1beta1";
const SHORTEST_WAIT_SECONDS = 0.05;
/** Metacontroller counts in int64 nanoseconds: a wait of centuries would overflow into a hot loop. */
const LONGEST_WAIT_SECONDS = 86_400;

/**
 * Decides status, labels and annotations of a claim, and what becomes of its Sandbox.
 *
 * @param memories for speed and patience only: see memory.ts
 * @throws {RangeError} if the controller lacks the attachment rule
 */
export function syncSandboxClaim(
  observed: Observed<SandboxClaim>,
  now: Date,
  config: ClaimConfig,
  memories: Memories,
): Decorated<SandboxClaimStatus> {
  const claim = observed.parent;
  const sandboxes = listKind(observed.children, SANDBOXES, sandboxSchema);
  if (claim.metadata.deletionTimestamp !== undefined) return { attachments: sandboxes.map(unchanged) };
  const memory = recall(memories, claim.metadata.uid ?? "", now.getTime());
  const phase = expiryPhase(claim, now);
  const { kept, extra } = chooseSandbox(claim, sandboxes);
  const deletions = Object.fromEntries(extra.map((sandbox) => [childKey(sandbox), "the claim has another one"]));
  if (!kept) {
    const answer = { ...unattached(claim, phase, memory, config, now), attachments: [] };
    return timed(withTrueLabel(answer, claim), claim, phase, now);
  }

  memory.missingSince = undefined;
  if (phase === "published" && claim.spec.lifecycle?.shutdownPolicy === "Retain") {
    return { attachments: [], deletions: { ...deletions, [childKey(kept)]: "the claim has expired" } };
  }
  const { desired, problem } = keepSandbox(claim, kept, config);
  const answer = { ...attached(claim, kept, phase, problem, memory, now), attachments: [desired], deletions };
  return timed(answer, claim, phase, now);
}

/** Takes away a label with another pool's name, put there by mistake or before the claim was changed: no pool would see it. */
function withTrueLabel(
  answer: Decorated<SandboxClaimStatus>,
  { metadata, spec }: SandboxClaim,
): Decorated<SandboxClaimStatus> {
  const label = metadata.labels?.[WARM_POOL_REF_LABEL];
  if (label === undefined || label === spec.warmPoolRef.name) return answer;
  return { ...answer, labels: { ...answer.labels, [WARM_POOL_REF_LABEL]: null } };
}

/** Adds when to look again without an event: at the expiry, at once when it has just been published, and for recheck.ts. */
function timed(
  answer: Decorated<SandboxClaimStatus>,
  claim: SandboxClaim,
  phase: ExpiryPhase,
  now: Date,
): Decorated<SandboxClaimStatus> {
  // Our own status writes do not bring the claim back here: what the new one brings about has to be seen now.
  const expiry = phase === "published" ? undefined : expiryTime({ ...claim, status: answer.status ?? claim.status });
  const waits = [
    answer.resyncAfterSeconds,
    expiry === undefined ? undefined : (expiry - now.getTime()) / 1000,
    recheckSeconds(answer, claim),
  ].filter((seconds) => seconds !== undefined);
  if (waits.length === 0) return answer;
  const soonest = Math.min(Math.max(Math.min(...waits), SHORTEST_WAIT_SECONDS), LONGEST_WAIT_SECONDS);
  return { ...answer, resyncAfterSeconds: soonest };
}
