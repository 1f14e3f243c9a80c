/** The SandboxClaim hook: shows what the binder has given, follows the claim's wishes, and lets go in time. Pure. @module */
import { type Sandbox, sandboxSchema } from "../../packages/api/sandbox.ts";
import type { SandboxClaim, SandboxClaimStatus } from "../../packages/api/sandboxclaim.ts";
import { refusedWrite } from "../../packages/api/claims/refusedwrite.ts";
import { expiryTime } from "../../packages/api/expiry.ts";
import { sameJson } from "../../packages/api/objects/apply.ts";
import { findCondition } from "../../packages/api/objects/conditions.ts";
import { childKey, type Decorated, listKind, type Observed } from "../../packages/webhook/metacontroller.ts";
import { unchanged } from "../../packages/webhook/unchanged.ts";
import { attached, missingDoubt, unattached } from "./answer.ts";
import { chooseSandbox, keepSandbox } from "./attachment.ts";
import { ANOTHER, EXPIRED } from "./deletionreasons.ts";
import { type ExpiryPhase, expiryPhase } from "./expiry.ts";
import type { ClaimConfig } from "./options.ts";
import { computeStatus, lacks } from "./status.ts";

const SANDBOXES = "Sandbox.agents.x-k8s.io/v1beta1";
const SHORTEST_WAIT_SECONDS = 0.05;
/** Metacontroller counts in int64 nanoseconds: a wait of centuries would overflow into a hot loop. */
const LONGEST_WAIT_SECONDS = 86_400;

/**
 * Decides status and annotations of a claim, and what becomes of its Sandbox.
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
  if (claim.metadata.deletionTimestamp !== undefined) return { attachments: sandboxes.map(unchanged) };
  const phase = expiryPhase(claim, now);
  const { kept, extra } = chooseSandbox(claim, sandboxes);
  if (!kept) return timed({ ...unattached(claim, phase, config, now), attachments: [] }, claim, phase, now);
  const doubtSeconds = phase === "none" && !isNamedIn(sandboxes, claim) ? missingDoubt(claim, now) : undefined;
  if (doubtSeconds !== undefined) {
    return timed({ attachments: sandboxes.map(unchanged), resyncAfterSeconds: doubtSeconds }, claim, phase, now);
  }

  const { leaving, staying } = partOf(claim, kept, extra);
  const deletions = Object.fromEntries(leaving.map((sandbox) => [childKey(sandbox), ANOTHER]));
  const others = staying.map(unchanged);
  if (phase === "published" && claim.spec.lifecycle?.shutdownPolicy === "Retain") {
    const refused = refusedWrite(claim.metadata);
    const status = refused && computeStatus({ claim, sandbox: kept, isExpired: true, ...refused }, now);
    return { attachments: others, deletions: { ...deletions, [childKey(kept)]: EXPIRED }, ...(status && { status }) };
  }
  const { desired, problem } = keepSandbox(claim, kept, config);
  const answer = { ...attached(claim, kept, phase, problem, now), attachments: [desired, ...others], deletions };
  return timed(answer, claim, phase, now);
}

function isNamedIn(sandboxes: readonly Sandbox[], { status }: SandboxClaim): boolean {
  return sandboxes.some(({ metadata }) => metadata.name === status?.sandbox?.name);
}

/** What a claim has too many goes once the claim is seen to name the one that it keeps: an old view may know less than users do. */
function partOf(claim: SandboxClaim, kept: Sandbox, extra: Sandbox[]): { leaving: Sandbox[]; staying: Sandbox[] } {
  return isNamedIn([kept], claim) ? { leaving: extra, staying: [] } : { leaving: [], staying: extra };
}

/** Adds when to look again without an event: at the expiry, at once when it has just been published, and by {@link recheckSeconds}. */
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

const SOON_SECONDS = 0.25;
const LONGER_SECONDS = 2;
const LATER_SECONDS = 5;

/**
 * Returns the seconds after which to look again without an event; undefined: nothing is written.
 *
 * Metacontroller drops an answer to a claim that has changed since, and a change of status or finalizers alone wakes
 * nobody (`ignoreStatusChanges`): a hook that answers before it sees its own last write would not be asked again.
 *
 * | answer | look again |
 * |---|---|
 * | writes the status alone | soon: its event wakes nobody |
 * | the same, and takes back that the claim is Ready | a little later: views may have been old, and that write seen late |
 * | writes annotations | later: its event wakes us, unless the write was dropped |
 * | writes nothing | never |
 */
function recheckSeconds(
  { status, annotations }: Omit<Decorated<SandboxClaimStatus>, "attachments">,
  claim: SandboxClaim,
): number | undefined {
  if (annotations && lacks(claim, annotations)) return LATER_SECONDS;
  if (!status || sameJson(status, claim.status)) return undefined;
  return isReady(claim.status) && !isReady(status) ? LONGER_SECONDS : SOON_SECONDS;
}

function isReady(status: SandboxClaimStatus | undefined): boolean {
  return findCondition(status?.conditions, "Ready")?.status === "True";
}
