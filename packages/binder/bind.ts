/** Binds a claim that was scheduled: writes its Sandbox, and decides what follows if that fails. @module */
import type { Attributes } from "@opentelemetry/api";
import { isReachable } from "../api/claims/binding.ts";
import { creationRefused, nameTaken, rightLacking } from "../api/claims/unserved.ts";
import type { ClaimProblem } from "../api/claimproblem.ts";
import { lackedRight } from "../api/lackedright.ts";
import type { Sandbox } from "../api/sandbox.ts";
import { type SandboxClaim, sandboxClaimSchema } from "../api/sandboxclaim.ts";
import { missingAnnotations } from "../../hooks/sandboxclaim/status.ts";
import { isHandable } from "../../hooks/sandboxwarmpool/applied.ts";
import { backoffMs } from "../kube/backoff.ts";
import { errorFields } from "../process/log.ts";
import { candidatesOf, type Choice, choose, MOST_REFUSED, policyProblem, refuse } from "./filter.ts";
import { coldSandbox, handedOver } from "./handover.ts";
import { markUnschedulable, reconcile, report } from "./reconcile.ts";
import { expectReplacement } from "./replacements.ts";
import { beginSpan, endFailed, logFields } from "./spans.ts";
import { standingOf } from "./standing.ts";
import { assumeWritten, type Binder, getClaim, isServing, noteLoss, type QueuedClaim } from "./state.ts";
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

/** Looks again at a claim whose Sandbox could not be made because the name is somebody else's. */
const TAKEN_MS = 5000;
/** Offers a member again that the API server would not have handed over, to any claim; a newer version of it sooner. */
const REFUSED_MS = 60_000;

/** A claim that is being served. */
export interface Job {
  entry: QueuedClaim;
  /** The entry as it was in line: it may turn to another pool meanwhile. */
  turn: Readonly<QueuedClaim>;
  /** Undefined: claim or template are not kept whole, so nothing can be chosen yet. */
  choice: Extract<Choice, { kind: "member" | "cold" }> | undefined;
  /** The member that was given, whole. */
  member?: Sandbox;
  /** The generation of the claim for which it was given. */
  generation?: number | undefined;
  /** Seen whole, it could be given nothing as things are. */
  refused?: Extract<Choice, { kind: "refused" }>;
}

/** Gives one claim what was chosen for it; what goes wrong delays this claim, and nobody else. */
export async function bind(binder: Binder, job: Job): Promise<void> {
  const { index, log, clock } = binder;
  const { entry, turn } = job;
  const { claim } = entry;
  // The first try has all that the claim has waited, a later one what is its own.
  const span = beginSpan(binder, claim, "hookbox.bind", entry.failures === 0 ? { startTime: entry.seenAt } : {});
  span?.addEvent("chosen");
  try {
    const own = await ownBefore(binder, entry);
    entry.unsure = undefined;
    const given = own ?? await writeSandbox(binder, job);
    const { choice } = job;
    const isMember = choice?.kind === "member";
    span?.setAttributes(outcomeOf(given, isMember)).end();
    if (isMember && own) index.release(choice.sandbox);
    if (typeof given === "object") {
      // Before it is known: then the pool may be told at once.
      if (isMember) noteLoss(binder, choice.pool);
      const replace = isMember && !own
        ? expectReplacement(binder, { ...choice, sandbox: job.member ?? choice.sandbox })
        : undefined;
      index.written(given);
      void replace?.(entry);
      const now = clock.now();
      binder.onServed({ kind: isMember ? "warm" : "cold", seconds: (now - entry.seenAt) / 1000, claim });
      Object.assign(entry, { failures: 0, refused: [] });
      // The watch may have been faster, and shown it Ready.
      if (!isReachable(given) && !entry.reporting) entry.starting = beginSpan(binder, claim, "hookbox.start_sandbox");
    } else if (given === "taken") {
      entry.notBefore = clock.now() + TAKEN_MS;
      await reportProblem(binder, entry, nameTaken(claim.metadata.name));
    }
  } catch (error) {
    endFailed(span, error);
    const { choice } = job;
    entry.notBefore = clock.now() + backoffMs(entry.failures++);
    const lacked = error instanceof Error ? lackedRight(error.message) : undefined;
    // If this account lacks a right, neither the claim nor the member is at fault.
    const isRefused = !lacked && error instanceof RefusalError;
    if (choice?.kind === "member") {
      // A problem of the claim itself is no reason to avoid the member.
      if (isRefused && !error.problem) blame(binder, entry, choice);
      index.release(choice.sandbox);
    }
    if (isServing(binder)) log("error", "Cannot serve a claim", { ...logFields(claim), ...errorFields(error) });
    // What was refused to an earlier spec says nothing of this one.
    const isChanged = job.generation !== undefined && job.generation !== entry.claim.metadata.generation;
    if (lacked) await reportProblem(binder, entry, rightLacking(lacked, (error as Error).message));
    else if (!isChanged && isRefused && (choice?.kind === "cold" || error.problem)) {
      await reportProblem(binder, entry, error.problem ?? creationRefused(error.message));
    }
  }
  binder.serving--;
  binder.queue.done(turn);
  entry.place = "idle";
  // One that has changed meanwhile is another one.
  if (job.refused && binder.claims.get(entry.uid) === entry && entry.claim === claim) {
    markUnschedulable(binder, entry, job.refused);
  } else reconcile(binder, entry);
  binder.schedule();
  if (binder.serving === 0) binder.onIdle();
}

/**
 * Returns the Sandbox that the claim has all the same, though the watch has not shown it: it says so, a write has landed, or
 * a binder before this one has given it.
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

/** Writes the Sandbox that was chosen. @returns undefined: the claim can be given nothing now */
async function writeSandbox(binder: Binder, job: Job): Promise<BindOutcome | undefined> {
  const { api, clock, log } = binder;
  const { entry } = job;
  // Annotations that name a member which was lost are written on condition of the same version as those that follow.
  await entry.annotating;
  entry.annotating = undefined;
  const chosen = job.choice ? entry.claim : await chooseByAll(binder, job);
  const { choice } = job;
  if (!chosen || !choice) return undefined;
  const defaults = choice.pool.spec.claimDefaults?.lifecycle;
  const claim = defaults ? await withDefaults(api, entry, chosen, defaults) : chosen;
  job.generation = claim.metadata.generation;
  const now = new Date(clock.now());
  if (choice.kind === "cold") {
    entry.unsure = claim.metadata.name;
    const given = await postSandbox(api, coldSandbox(claim, choice.pool, choice.template, now), claim);
    entry.unsure = undefined;
    return given;
  }
  const member = isProjection(choice.sandbox) ? await getMember(api, choice.sandbox) : choice.sandbox;
  if (!member) return "lost";
  if (member !== choice.sandbox && !isHandable(member)) throw new RefusalError("its Pod would not stay as it is");
  job.member = member;
  entry.unsure = member.metadata.name;
  const annotations = missingAnnotations(claim, member, now, entry.seenAt);
  // At the same time as the member; the status is written after both.
  if (annotations) {
    entry.annotating = annotateClaim(api, claim, annotations).then((written) => {
      if (written) assumeWritten(entry, written);
    }, (error) => {
      log("warn", "Cannot annotate a claim", { ...logFields(claim), ...errorFields(error) });
    });
  }
  const given = await putSandbox(api, handedOver(member, claim, choice.template, now), claim);
  // Another binder may have given it to the same claim.
  entry.unsure = given === "lost" ? member.metadata.name : undefined;
  return given;
}

/** Asks for all of claim and template, chooses by that, and returns it; undefined: it is gone, or can be given nothing now. */
async function chooseByAll(binder: Binder, job: Job): Promise<SandboxClaim | undefined> {
  const { api, clock, index, allowedLabelDomains, allowedAnnotationDomains } = binder;
  const { entry } = job;
  // Its turn may come late.
  if (!isServing(binder)) return undefined;
  const claim = entry.raw ? entry.claim : sandboxClaimSchema.safeParse(await getClaim(api, entry.claim)).data;
  const snapshot = () => index.snapshot(entry.namespace, claim?.spec.warmPoolRef.name ?? "");
  const { template: kept } = snapshot();
  const template = kept && isProjection(kept) ? await getTemplate(api, kept) : kept;
  const now = clock.now();
  const { pool, template: latest, policy, members } = snapshot();
  // Another one has come meanwhile.
  if (kept !== latest) return undefined;
  const fault = policyProblem(policy, binder.templateNetworkPolicy, kept);
  const candidates = candidatesOf(pool, template, members, now, fault);
  const choice: Choice = claim && standingOf(claim, index.controlled(entry), now).is === "wanting"
    ? choose(claim, { ...candidates, refused: entry.refused }, allowedLabelDomains, now, allowedAnnotationDomains)
    : { kind: "refused" };
  if (choice.kind === "member" || choice.kind === "cold") {
    if (choice.kind === "member") index.assume(choice.sandbox);
    job.choice = choice;
    return claim;
  }
  entry.notBefore = now + (choice.kind === "wait" ? choice.ms : backoffMs(entry.failures++));
  if (choice.kind === "refused" && claim) job.refused = choice;
  return undefined;
}

/** Reports what the API server has answered. */
async function reportProblem(binder: Binder, entry: QueuedClaim, problem: ClaimProblem): Promise<void> {
  await report(binder, entry, { is: "wanting", problem, isCertain: true });
}

/** What a span says of what came of a claim. */
function outcomeOf(given: BindOutcome | undefined, isMember: boolean): Attributes {
  if (typeof given !== "object") return { "hookbox.outcome": given ?? "nothing" };
  return { "sandbox.name": given.metadata.name, "hookbox.launch_type": isMember ? "warm" : "cold" };
}

/**
 * Decides what a refused hand-over is held against: by one claim no member is lost to the others, and a claim that is
 * refused another one, too, is left to its own Sandbox.
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
  // It cannot have its own: all that is left is to begin anew, but not soon.
  entry.refused = [];
  entry.notBefore = until;
}
