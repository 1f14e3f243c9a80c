/** What a claim says: with a Sandbox that one, how it is, and since when it has it; without one why it has none. @module */
import { type ClaimProblem, readClaimProblem } from "../../packages/api/claimproblem.ts";
import type { Sandbox } from "../../packages/api/sandbox.ts";
import type { SandboxClaim, SandboxClaimStatus } from "../../packages/api/sandboxclaim.ts";
import { isFinal, isLeftToBinder } from "../../packages/api/claims/binding.ts";
import { metadataProblem } from "../../packages/api/claims/podmetadata.ts";
import { findCondition } from "../../packages/api/objects/conditions.ts";
import { FIRST_OBSERVED_ANNOTATION, FIRST_READY_ANNOTATION } from "../../packages/api/objects/keys.ts";
import type { Decorated } from "../../packages/webhook/metacontroller.ts";
import type { ExpiryPhase } from "./expiry.ts";
import { computeStatus, lacks, notesOf } from "./status.ts";
import type { ClaimConfig } from "./options.ts";

type Answer = Omit<Decorated<SandboxClaimStatus>, "attachments">;

/**
 * Decides for a claim that has a Sandbox.
 *
 * Name, addresses and Ready are written at once. The first status is the binder's where the Sandbox is Ready by then; and
 * a Sandbox that has said nothing itself is not shown: most are Ready soon, and the claim has one status in its life
 * instead of three.
 *
 * Metacontroller writes the status of an answer before the annotations of the same answer. Clients read the annotations as
 * soon as the claim is Ready. The hook therefore reports Ready only when it observes the annotations. If a claim gets another
 * Sandbox, because its first one is gone, the claim is not Ready in between.
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
  if (!isDue && (isSilent || isLeftToBinder(claim, sandbox, now.getTime()))) return {};
  const status = computeStatus({ claim, sandbox, isExpired: isDue, problem }, now);
  if (isOlderView(claim, sandbox, status, now)) return { resyncAfterSeconds: OLDER_VIEW_MS / 1000 / 2 };
  const annotations = notesOf(claim, sandbox, status, now);
  const isReady = findCondition(status.conditions, "Ready")?.status === "True";
  if (!isReady || !lacks(claim, annotations)) return { status, annotations };
  const shown = claim.status?.sandbox?.name;
  if (shown === undefined || shown === sandbox.metadata.name) return { annotations };
  const { status: _, ...unready } = sandbox;
  return { status: computeStatus({ claim, sandbox: unready, isExpired: isDue, problem }, now), annotations };
}

/** For how long a Sandbox that takes the claim's Ready back may have been seen before the claim was told that it is Ready. */
const OLDER_VIEW_MS = 4000;

/**
 * Tells whether what is seen of the Sandbox may be older than what the claim says of it: the claim is Ready since the same
 * second or a later one. A Ready that is taken back wrongly would stay so where nothing else happens: the engine has one
 * pending look for each claim, the soonest, and that may have the claim's old status before it. Clocks differ, so that no
 * such doubt lasts.
 */
function isOlderView(claim: SandboxClaim, sandbox: Sandbox, { conditions }: SandboxClaimStatus, now: Date): boolean {
  const before = findCondition(claim.status?.conditions, "Ready");
  const after = findCondition(conditions, "Ready");
  const theirs = findCondition(sandbox.status?.conditions, "Ready");
  if (before?.status !== "True" || after?.status !== "False" || after.reason !== theirs?.reason) return false;
  // What has come to its end was not Ready after it.
  if (claim.status?.sandbox?.name !== sandbox.metadata.name || isFinal({ ...claim, status: { conditions } })) {
    return false;
  }
  const since = Date.parse(theirs.lastTransitionTime);
  return since <= Date.parse(before.lastTransitionTime) && Math.abs(now.getTime() - since) < OLDER_VIEW_MS;
}

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
export function unattached(claim: SandboxClaim, phase: ExpiryPhase, config: ClaimConfig, now: Date): Answer {
  const { metadata } = claim;
  const isExpired = phase !== "none";
  const hadSandbox = Boolean(claim.status?.sandbox?.name);
  if (hadSandbox && !isExpired) {
    if (isFinal(claim)) return {};
    const doubtSeconds = missingDoubt(claim, now);
    if (doubtSeconds !== undefined) return { resyncAfterSeconds: doubtSeconds };
  }
  const problem = hadSandbox
    ? undefined
    : metadataProblem(claim.spec.additionalPodMetadata, config.labelDomains, config.annotationDomains) ??
      readClaimProblem(metadata);
  if (claim.status === undefined && !isExpired && !problem) return {};
  const status = computeStatus({ claim, sandbox: undefined, isExpired, problem }, now);
  return { status, annotations: notesOf(claim, undefined, status, now) };
}

/**
 * Returns for how many seconds yet the Sandbox that the claim names is not believed to be missing, though it is not seen;
 * undefined: none, or it names none. Where another one is seen meanwhile, that would be shown in its place.
 */
export function missingDoubt(claim: SandboxClaim, now: Date): number | undefined {
  const left = claim.status?.sandbox?.name ? bindingTime(claim) + MISSING_MS - now.getTime() : 0;
  return left > 0 ? left / 1000 : undefined;
}

/** When the claim was given its Sandbox, as far as it tells, in milliseconds since the epoch; 0: it does not. */
function bindingTime({ metadata: { annotations = {}, creationTimestamp } }: SandboxClaim): number {
  const noted = [FIRST_OBSERVED_ANNOTATION, FIRST_READY_ANNOTATION].map((key) => annotations[key]);
  const times = [creationTimestamp, ...noted].map((time) => Date.parse(time ?? ""));
  return Math.max(0, ...times.filter((time) => !Number.isNaN(time)));
}
