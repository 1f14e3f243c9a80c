/** Serves claims: whose turn it is, what it gets, and what becomes of it if that fails. @module */
import type { Attributes } from "@opentelemetry/api";
import { backoffMs } from "../kube/backoff.ts";
import { errorFields } from "../process/log.ts";
import { isReachable } from "../api/claims/binding.ts";
import { creationRefused, nameTaken, rightLacking } from "../api/claims/unserved.ts";
import { lackedRight } from "../api/lackedright.ts";
import { type Choice, choose, MOST_REFUSED } from "./choose.ts";
import { give, type Job, ownBefore } from "./give.ts";
import type { ClaimProblem } from "../api/claimproblem.ts";
import type { Line } from "./lines.ts";
import { type Offer, offerOf, refuse } from "./offer.ts";
import { type Binder, type Entry, isServing, noteLoss } from "./state.ts";
import { consider, report, setAside } from "./queue.ts";
import { expectReplacement } from "./replacements.ts";
import { policyProblem } from "./fence.ts";
import { standing } from "./report.ts";
import { isOutline } from "./whole.ts";
import { beginSpan, endFailed, logFields } from "./spans.ts";
import { type Given, RefusalError } from "./writes.ts";

/** Claims of a pool that are turned away at once: between so many others are heard. */
const MOST_TURNED_AWAY = 200;
/** Claims that are served at once while what others have given may not have been shown. */
const MOST_UNSURE = 4;
/** Looks again at a claim whose Sandbox could not be made because the name is somebody else's. */
const TAKEN_MS = 5000;
/** Offers a member again that the API server would not have handed over, to any claim; a newer version of it sooner. */
const REFUSED_MS = 60_000;

/** Has a line looked at again, at once if may be. */
export function wake(binder: Binder, namespace: string, pool: string): void {
  if (!binder.lines.find(namespace, pool)) return;
  binder.lines.wake(namespace, pool);
  pump(binder);
}

/** Begins to serve as many claims as may be. What a choice changes comes back here, and is seen in the next round. */
export function pump(binder: Binder): void {
  if (binder.isPumping) return;
  binder.isPumping = true;
  try {
    while (binder.serving < mostServed(binder) && isServing(binder)) {
      let job: Job | undefined;
      const isFound = binder.lines.round((line) => {
        job = nextIn(binder, line);
        return job !== undefined;
      });
      if (!isFound || !job) break;
      begin(binder, job);
    }
  } finally {
    binder.isPumping = false;
  }
}

/** Until what others have given is known, the API server is asked for each claim: that is to be soon over, and cheap. */
function mostServed({ index, binderWorkers }: Binder): number {
  return index.freshness.isFresh() ? binderWorkers : Math.min(binderWorkers, MOST_UNSURE);
}

/** Takes the first claim that can be served from a line, and those that cannot at all. */
function nextIn(binder: Binder, line: Line<Entry>): Job | undefined {
  const { index, lines } = binder;
  const { namespace, pool: name, waiters } = line;
  const now = binder.clock.now();
  const pool = index.pool(namespace, name);
  const template = pool && index.template(pool);
  const fault = policyProblem(index.policies, binder.templateNetworkPolicy, template);
  const offer = offerOf(pool, template, index.members(pool), now, fault);
  let wait = Infinity;
  let turnedAway = 0;
  for (const entry of [...waiters]) {
    if (entry.notBefore > now) {
      wait = Math.min(wait, entry.notBefore - now);
      continue;
    }
    const choice = chosenFor(binder, entry, offer);
    if (choice.kind === "wait") {
      offer.waiting++;
      wait = Math.min(wait, choice.ms);
      continue;
    }
    lines.remove(entry);
    if (choice.kind === "refused") {
      setAside(binder, entry, choice);
      if (++turnedAway < MOST_TURNED_AWAY) continue;
      wait = 0;
      break;
    }
    const turn = { ...entry };
    entry.place = "serving";
    if (!entry.raw || choice.kind === "unknown") return { entry, turn, choice: undefined };
    // Taken before anybody else can look.
    if (choice.kind === "member") index.assume(choice.sandbox);
    return { entry, turn, choice };
  }
  if (wait < Infinity) later(binder, line, wait);
  return undefined;
}

/** Decides for one claim; `unknown`: its template is not kept whole. What cannot be decided of delays this claim, and nobody else. */
function chosenFor(binder: Binder, entry: Entry, offer: Offer): Choice | { kind: "unknown" } {
  const now = binder.clock.now();
  try {
    if (standing(binder, entry, entry.claim).is !== "wanting") return { kind: "refused" };
    if (offer.template && isOutline(offer.template)) return { kind: "unknown" };
    return choose(
      entry.claim,
      { ...offer, refused: entry.refused },
      binder.allowedLabelDomains,
      now,
      binder.allowedAnnotationDomains,
    );
  } catch (error) {
    binder.log("error", "Cannot choose a Sandbox for a claim", { ...logFields(entry.claim), ...errorFields(error) });
    const ms = backoffMs(entry.failures++);
    entry.notBefore = now + ms;
    return { kind: "wait", ms };
  }
}

function later(binder: Binder, { namespace, pool }: Line<Entry>, ms: number): void {
  const key = `${namespace}/${pool}`;
  binder.timers.get(key)?.();
  const cancel = binder.clock.setTimeout(() => {
    binder.timers.delete(key);
    wake(binder, namespace, pool);
  }, ms);
  binder.timers.set(key, cancel);
}

function begin(binder: Binder, job: Job): void {
  const { entry } = job;
  binder.serving++;
  if (job.choice) void serve(binder, job);
  else binder.large.add(entry.namespace, entry.uid, () => serve(binder, job));
}

/** Gives one claim what was chosen for it; what goes wrong delays this claim, and nobody else. */
async function serve(binder: Binder, job: Job): Promise<void> {
  const { index, log, clock } = binder;
  const { entry, turn } = job;
  const { claim } = entry;
  // The first try has all that the claim has waited, a later one what is its own.
  const span = beginSpan(binder, claim, "hookbox.bind", entry.failures === 0 ? { startTime: entry.seenAt } : {});
  span?.addEvent("chosen");
  try {
    const own = await ownBefore(binder, entry);
    entry.unsure = undefined;
    const given = own ?? await give(binder, job);
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
  binder.lines.done(turn);
  entry.place = "idle";
  // One that has changed meanwhile is another one.
  if (job.refused && binder.claims.get(entry.uid) === entry && entry.claim === claim) {
    setAside(binder, entry, job.refused);
  } else consider(binder, entry);
  pump(binder);
  if (binder.serving === 0) binder.onIdle();
}

/** Reports what the API server has answered. */
async function reportProblem(binder: Binder, entry: Entry, problem: ClaimProblem): Promise<void> {
  await report(binder, entry, { is: "wanting", problem, isCertain: true });
}

/** What a span says of what came of a claim. */
function outcomeOf(given: Given | undefined, isMember: boolean): Attributes {
  if (typeof given !== "object") return { "hookbox.outcome": given ?? "nothing" };
  return { "sandbox.name": given.metadata.name, "hookbox.launch_type": isMember ? "warm" : "cold" };
}

/**
 * Decides what a refused hand-over is held against: by one claim no member is lost to the others, and a claim that is
 * refused another one, too, is left to its own Sandbox.
 */
function blame({ index, clock }: Binder, entry: Entry, { sandbox, pool }: Extract<Choice, { kind: "member" }>): void {
  const until = clock.now() + REFUSED_MS;
  if (entry.refused.length === 0) refuse(sandbox, entry.uid, until);
  entry.refused.push(sandbox.metadata.uid ?? "");
  if (entry.refused.length < MOST_REFUSED || index.template(pool)) return;
  // It cannot have its own: all that is left is to begin anew, but not soon.
  entry.refused = [];
  entry.notBefore = until;
}
