/** Binds a scheduled claim: writes its Sandbox, and decides how to continue if the write fails. @module */
import type { Attributes } from "@opentelemetry/api";
import { isReachable } from "../api/claims/binding.ts";
import { type ClaimProblem, creationRefused, deliveryFailed, nameTaken, rightLacking } from "../api/claims/problem.ts";
import { metadataConflict } from "../api/claims/podmetadata.ts";
import { resourcesProblem, resourcesText } from "../api/claims/resources.ts";
import { lackedRight } from "../api/diagnosis/messages.ts";
import type { Sandbox } from "../api/sandbox.ts";
import type { SandboxClaim } from "../api/sandboxclaim.ts";
import { missingAnnotations } from "../../hooks/sandboxclaim/status.ts";
import { isHandable } from "../../hooks/sandboxwarmpool/applied.ts";
import { backoffMs } from "../kube/backoff.ts";
import { errorFields } from "../process/log.ts";
import { contentsOf } from "./deliver.ts";
import { candidatesOf, type Choice, choose, MOST_REFUSED, policyProblem, refuse } from "./filter.ts";
import { boundMember, coldSandbox, ownPodMetadata } from "./boundsandbox.ts";
import { markUnschedulable, reconcile, report } from "./reconcile.ts";
import { expectReplacement } from "./replacements.ts";
import { mayResize } from "./resize.ts";
import { beginSpan, endFailed, logFields } from "./spans.ts";
import { standingOf } from "./standing.ts";
import {
  assumeWritten,
  type Binder,
  getClaim,
  isServing,
  mustRead,
  parseClaim,
  type QueuedClaim,
  recordLoss,
  serverNow,
} from "./state.ts";
import { getMember, getTemplate, isProjection } from "./store.ts";
import {
  annotateClaim,
  type BindOutcome,
  findOwn,
  postSandbox,
  putSandbox,
  RefusalError,
  searchOwn,
  withDefaults,
} from "./writes.ts";

/** Delay before a claim is tried again if another object has the name of the Sandbox to create. */
const TAKEN_MS = 5000;
/**
 * How long a member is not offered to any claim after the API server has refused its binding. A newer version of the
 * member is offered at once.
 */
const REFUSED_MS = 60_000;

/** Source: webhook errors of k8s.io/apiserver 1.36, with status 500. */
const WEBHOOK_FAILED = /failed calling webhook/;
/** Attempts that may fail because a webhook does not answer before the claim reports it. */
const MOST_BLOCKED = 3;

/** A claim that is being served, and the choice that was made for it. */
export interface Job {
  entry: QueuedClaim;
  /**
   * A copy of the entry as it was in the queue. The entry itself may move to another pool while the claim is served.
   */
  turn: Readonly<QueuedClaim>;
  /**
   * Undefined if the choice needs objects that must be read first: only a projection of the claim or the template is
   * kept, or the claim had a Sandbox already.
   */
  choice: Extract<Choice, { kind: "member" | "cold" }> | undefined;
  /** The full object of the member that was bound. */
  member?: Sandbox;
  /** The generation of the claim for which the Sandbox was written. */
  generation?: number | undefined;
  /** Set if the claim cannot be served, according to the full objects. */
  refused?: Extract<Choice, { kind: "refused" }>;
}

/** Writes the Sandbox that was chosen for one claim. A failure delays only this claim. */
export async function bind(binder: Binder, job: Job): Promise<void> {
  const { index, log, clock } = binder;
  const { entry, turn } = job;
  const { claim } = entry;
  // The span of the first try begins when the claim was first seen; the span of a retry covers only the retry.
  const span = beginSpan(binder, claim, "hookbox.bind", entry.failures === 0 ? { startTime: entry.seenAt } : {});
  span?.addEvent("chosen");
  try {
    const own = await ownBefore(binder, entry);
    entry.unsure = undefined;
    const outcome = own ?? await writeSandbox(binder, job);
    const { choice } = job;
    const isMember = choice?.kind === "member";
    span?.setAttributes(outcomeOf(outcome, isMember)).end();
    if (isMember && (own || !outcome)) index.release(choice.sandbox);
    if (typeof outcome === "object") {
      // Before the index knows about the binding: from then on, the pool may be notified at any moment.
      if (isMember) recordLoss(binder, choice.pool);
      const replace = isMember && !own
        ? expectReplacement(binder, { ...choice, sandbox: job.member ?? choice.sandbox })
        : undefined;
      index.written(outcome);
      void replace?.(entry);
      const now = clock.now();
      binder.onServed({ kind: isMember ? "warm" : "cold", seconds: (now - entry.seenAt) / 1000, claim });
      Object.assign(entry, { failures: 0, refused: [], notResized: undefined });
      // The watch may already have shown that the Sandbox is Ready.
      if (!isReachable(outcome) && !entry.reporting) entry.starting = beginSpan(binder, claim, "hookbox.start_sandbox");
    } else if (outcome === "lost" && !isMember) {
      // An admission webhook may answer 409 each time.
      entry.notBefore = clock.now() + backoffMs(entry.failures++);
    } else if (outcome === "taken") {
      entry.notBefore = clock.now() + TAKEN_MS;
      await reportProblem(binder, entry, nameTaken(claim.metadata.name));
    }
  } catch (error) {
    endFailed(span, error);
    const { choice } = job;
    entry.notBefore = clock.now() + backoffMs(entry.failures++);
    const lacked = error instanceof Error ? lackedRight(error.message) : undefined;
    // If the binder's account lacks a permission, neither the claim nor the member is the cause.
    // A webhook that does not answer may do so again soon. Only if it persists is it reported.
    const isBlocked = error instanceof Error && entry.failures > MOST_BLOCKED && WEBHOOK_FAILED.test(error.message);
    const isRefused = !lacked && (error instanceof RefusalError || isBlocked);
    const problem = error instanceof RefusalError ? error.problem : undefined;
    if (choice?.kind === "member") {
      // If the claim itself is the problem, other claims can still use the member.
      if (isRefused && !isBlocked && !problem) blame(binder, entry, choice);
      index.release(choice.sandbox);
    }
    if (isServing(binder)) log("error", "Cannot serve a claim", { ...logFields(claim), ...errorFields(error) });
    // A refusal of an older spec does not apply to the current spec.
    const isChanged = job.generation !== undefined && job.generation !== entry.claim.metadata.generation;
    if (lacked) await reportProblem(binder, entry, rightLacking(lacked, (error as Error).message));
    else if (!isChanged && isRefused && (choice?.kind === "cold" || isBlocked || problem)) {
      await reportProblem(binder, entry, problem ?? creationRefused((error as Error).message));
    }
  }
  binder.serving--;
  binder.queue.done(turn);
  entry.place = "idle";
  // If the claim has changed while it was served, the refusal does not apply to the new version.
  if (job.refused && binder.claims.get(entry.uid) === entry && entry.claim === claim) {
    markUnschedulable(binder, entry, job.refused);
  } else reconcile(binder, entry);
  binder.schedule();
  if (binder.serving === 0) binder.onIdle();
}

/**
 * Returns the Sandbox that the claim already controls although the watch has not shown it yet. There are three such
 * cases: the claim's status names it, an earlier write has succeeded unnoticed, or the previous leader has bound it.
 */
async function ownBefore({ api, index }: Binder, { claim, unsure }: QueuedClaim): Promise<Sandbox | undefined> {
  for (const name of new Set([claim.status?.sandbox?.name, unsure])) {
    const own = name === undefined ? undefined : await findOwn(api, claim, name);
    if (own) return own;
  }
  if (index.freshness.isFresh()) return undefined;
  const { own, version } = await searchOwn(api, claim);
  index.freshness.asked(version);
  return own;
}

/** Writes the Sandbox that was chosen. @returns undefined if the claim cannot be served now */
async function writeSandbox(binder: Binder, job: Job): Promise<BindOutcome | undefined> {
  const { api, clock, log } = binder;
  const { entry } = job;
  // Wait for the earlier annotations: they change the claim's version, which the next annotations depend on.
  await entry.annotating;
  entry.annotating = undefined;
  // What the claim asked for when the choice was made was checked. What it asks for now was not.
  if (entry.claim.metadata.generation !== job.turn.claim.metadata.generation) dropChoice(binder, job);
  const chosen = job.choice ? entry.claim : await chooseByAll(binder, job);
  const { choice } = job;
  if (!chosen || !choice) return undefined;
  const defaults = choice.pool.spec.claimDefaults?.lifecycle;
  const onWritten = (written: SandboxClaim) => void assumeWritten(binder, entry, written);
  const claim = defaults ? await withDefaults(api, onWritten, chosen, defaults) : chosen;
  job.generation = claim.metadata.generation;
  // The claim was deleted, or a restore of etcd has replaced what is known about it.
  if (binder.claims.get(entry.uid) !== entry) return undefined;
  // Its annotations may have changed since it was checked, which leaves the generation as it was.
  const excess = choice.template && resourcesProblem(claim, choice.template);
  if (excess) throw new RefusalError(excess.message, excess);
  const now = new Date(clock.now());
  if (choice.kind === "cold") {
    await checkSecrets(binder, claim);
    if (binder.claims.get(entry.uid) !== entry) return undefined;
    entry.unsure = claim.metadata.name;
    const outcome = await postSandbox(api, coldSandbox(claim, choice, now), claim);
    entry.unsure = undefined;
    return outcome;
  }
  const member = isProjection(choice.sandbox) ? await getMember(api, choice.sandbox) : choice.sandbox;
  if (!member) return "lost";
  if (member !== choice.sandbox && !isHandable(member)) throw new RefusalError("its Pod would not stay as it is");
  // With a template, the choice has checked this.
  const conflict = choice.template
    ? undefined
    : metadataConflict(ownPodMetadata(member), claim.spec.additionalPodMetadata);
  if (conflict) throw new RefusalError(conflict.message, conflict);
  const isResized = resourcesText(claim) !== undefined;
  // Without the template, nothing shows which resources are allowed.
  if (isResized && !choice.template) return undefined;
  const bound = boundMember(member, claim, choice.template, now);
  if (isResized && !await mayResize(binder, entry, claim, bound)) return undefined;
  if (binder.claims.get(entry.uid) !== entry) return undefined;
  job.member = member;
  entry.unsure = member.metadata.name;
  const annotations = missingAnnotations(claim, member, now, entry.seenAt);
  // The annotations are written in parallel with the member; the status is written after both.
  if (annotations) {
    entry.annotating = annotateClaim(api, claim, annotations).then((written) => {
      if (written) assumeWritten(binder, entry, written);
    }, (error) => {
      log("warn", "Cannot annotate a claim", { ...logFields(claim), ...errorFields(error) });
    });
  }
  const outcome = await putSandbox(api, bound, claim);
  // If the member is lost, another binder may have bound it to this same claim.
  entry.unsure = outcome === "lost" ? member.metadata.name : undefined;
  return outcome;
}

/** Without its variables, the Sandbox would be Ready, but its commands would only wait for them. */
async function checkSecrets({ api }: Binder, claim: SandboxClaim): Promise<void> {
  await contentsOf(api, claim).catch(({ message }: Error) => {
    throw new RefusalError(message, deliveryFailed(message));
  });
}

function dropChoice({ index }: Binder, job: Job): void {
  if (job.choice?.kind === "member") index.release(job.choice.sandbox);
  job.choice = undefined;
}

/**
 * Reads what is not kept of the claim and its template, chooses by that, and returns the claim; undefined if the claim
 * is gone or cannot be served now.
 */
async function chooseByAll(binder: Binder, job: Job): Promise<SandboxClaim | undefined> {
  const { api, clock, index, allowedLabelDomains, allowedAnnotationDomains } = binder;
  const { entry } = job;
  // The claim may have waited for its turn, and this process may no longer lead.
  if (!isServing(binder)) return undefined;
  const isKept = !mustRead(binder, entry);
  const read = isKept ? undefined : await getClaim(api, entry.claim);
  const claim = isKept ? entry.claim : read && parseClaim(read);
  const snapshot = () => index.snapshot(entry.namespace, claim?.spec.warmPoolRef.name ?? "");
  const { template: kept } = snapshot();
  const template = kept && isProjection(kept) ? await getTemplate(api, kept) : kept;
  const now = clock.now();
  const { pool, template: latest, policy, members } = snapshot();
  // The template has changed during the requests.
  if (kept !== latest) return undefined;
  const fault = policyProblem(policy, binder.templateNetworkPolicy, kept);
  const candidates = candidatesOf(pool, template, members, now, fault);
  // Not a refusal: the claim may have expired during the requests, and no event will follow.
  const isWanting = claim && standingOf(claim, index.controlled(entry), serverNow(binder)).is === "wanting";
  if (!isWanting) {
    entry.notBefore = now + backoffMs(entry.failures++);
    return undefined;
  }
  const { refused, notResized } = entry;
  const choice = choose(
    claim,
    { ...candidates, refused, notResized },
    allowedLabelDomains,
    now,
    allowedAnnotationDomains,
  );
  if (choice.kind === "member" || choice.kind === "cold") {
    if (choice.kind === "member") index.assume(choice.sandbox);
    job.choice = choice;
    return claim;
  }
  entry.notBefore = now + (choice.kind === "wait" ? choice.ms : backoffMs(entry.failures++));
  if (choice.kind === "refused") job.refused = choice;
  return undefined;
}

/** Reports a problem that the API server has answered with. */
async function reportProblem(binder: Binder, entry: QueuedClaim, problem: ClaimProblem): Promise<void> {
  await report(binder, entry, { is: "wanting", problem, isCertain: true });
}

/** Returns the span attributes for the outcome of a binding. */
function outcomeOf(outcome: BindOutcome | undefined, isMember: boolean): Attributes {
  if (typeof outcome !== "object") return { "hookbox.outcome": outcome ?? "nothing" };
  return { "sandbox.name": outcome.metadata.name, "hookbox.launch_type": isMember ? "warm" : "cold" };
}

/**
 * Decides whether a refused binding counts against the member or the claim. A refusal for a single claim does not keep
 * the member from other claims. A claim whose bindings were refused {@link MOST_REFUSED} times gets a Sandbox of its
 * own.
 */
function blame(
  { index, clock }: Binder,
  entry: QueuedClaim,
  { sandbox, pool }: Extract<Choice, { kind: "member" }>,
): void {
  const until = clock.now() + REFUSED_MS;
  if (entry.refused.length === 0) refuse(sandbox, entry.uid, until);
  entry.refused.push(sandbox.metadata.uid ?? "");
  const { pool: latest, template } = index.snapshot(entry.namespace, pool.metadata.name);
  if (entry.refused.length < MOST_REFUSED || !latest || template) return;
  // Without a template, the claim cannot get a Sandbox of its own. So it tries the members again, but only after a
  // delay.
  entry.refused = [];
  entry.notBefore = until;
}
