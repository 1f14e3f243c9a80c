/** Serves claims: whose turn it is, what it gets, and what becomes of it if that fails. @module */
import type { Sandbox } from "../api/sandbox.ts";
import { backoffMs } from "../kube/backoff.ts";
import { errorFields } from "../process/log.ts";
import { creationRefused, nameTaken } from "../api/claims/unserved.ts";
import { type Choice, choose, MOST_REFUSED, wantsSandbox } from "./choose.ts";
import { coldSandbox, handedOver } from "./handover.ts";
import type { Line } from "./lines.ts";
import { type Offer, offerOf, refuse } from "./offer.ts";
import { type Binder, consider, type Entry, isServing, noteLoss, park, takeNote } from "./state.ts";
import { replace } from "./replacements.ts";
import { writeNotes } from "./notes.ts";
import { sayProblem } from "./tell.ts";
import { findOwn, type Given, postSandbox, putSandbox, RefusalError } from "./writes.ts";

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
    while (binder.serving < binder.workers && isServing(binder)) {
      let job: { entry: Entry; choice: Exclude<Choice, { kind: "wait" | "refused" }> } | undefined;
      const isFound = binder.lines.round((line) => {
        job = nextIn(binder, line);
        return job !== undefined;
      });
      if (!isFound || !job) break;
      void serve(binder, job.entry, job.choice);
    }
  } finally {
    binder.isPumping = false;
  }
  writeNotes(binder);
}

/** Takes the first claim that can be served from a line, and those that cannot at all. */
function nextIn(binder: Binder, line: Line<Entry>) {
  const { index, lines } = binder;
  const { namespace, pool: name, waiters } = line;
  const now = binder.clock.now();
  const pool = index.pool(namespace, name);
  const offer = offerOf(pool, pool && index.template(pool), index.members(pool), now);
  let wait = Infinity;
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
      park(binder, entry, choice.awaitsMember === true);
      takeNote(binder, entry);
      continue;
    }
    // Taken before anybody else can look.
    if (choice.kind === "member") index.assume(choice.sandbox);
    entry.place = "serving";
    return { entry, choice };
  }
  if (wait < Infinity) later(binder, line, wait);
  return undefined;
}

/** Decides for one claim. What cannot be decided of delays this claim, and nobody else. */
function chosenFor(binder: Binder, entry: Entry, offer: Offer): Choice {
  const now = binder.clock.now();
  try {
    if (!wantsSandbox(entry.claim, now)) return { kind: "refused" };
    return choose(entry.claim, { ...offer, refused: entry.refused }, binder.labelDomains, now);
  } catch (error) {
    const { namespace, name } = entry.claim.metadata;
    binder.log("error", "Cannot choose a Sandbox for a claim", { namespace, name, ...errorFields(error) });
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

/** Gives one claim what was chosen for it; what goes wrong delays this claim, and nobody else. */
async function serve(
  binder: Binder,
  entry: Entry,
  choice: Extract<Choice, { kind: "member" | "cold" }>,
): Promise<void> {
  const { index, log, clock } = binder;
  const { claim } = entry;
  // The claim may turn to another pool meanwhile.
  const turn = { ...entry };
  binder.serving++;
  try {
    const own = await ownBefore(binder, entry);
    entry.unsure = undefined;
    const given = own ?? await give(binder, entry, choice);
    if (choice.kind === "member" && own) index.release(choice.sandbox);
    if (typeof given === "object") {
      // Before it is known: then the pool may be told at once.
      if (choice.kind === "member") noteLoss(binder, choice.pool);
      index.written(given);
      if (choice.kind === "member" && !own) void replace(binder, entry, choice);
      binder.onServed(choice.kind === "member" ? "warm" : "cold", (clock.now() - entry.seenAt) / 1000);
      Object.assign(entry, { failures: 0, refused: [] });
    } else if (given === "taken") {
      entry.notBefore = clock.now() + TAKEN_MS;
      await sayProblem(binder, entry, nameTaken(claim.metadata.name));
    }
  } catch (error) {
    entry.notBefore = clock.now() + backoffMs(entry.failures++);
    const isRefused = error instanceof RefusalError;
    if (choice.kind === "member") {
      if (isRefused) blame(binder, entry, choice);
      index.release(choice.sandbox);
    }
    const { namespace, name } = claim.metadata;
    if (isServing(binder)) log("error", "Cannot serve a claim", { namespace, name, ...errorFields(error) });
    if (isRefused && choice.kind === "cold") await sayProblem(binder, entry, creationRefused(error.message));
  }
  binder.serving--;
  binder.lines.done(turn);
  entry.place = "idle";
  consider(binder, entry);
  pump(binder);
  if (binder.serving === 0) binder.onIdle();
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

/** Returns the Sandbox that the claim has all the same, though the watch has not shown it: it says so, or a write has landed. */
async function ownBefore({ api }: Binder, { claim, unsure }: Entry): Promise<Sandbox | undefined> {
  for (const name of new Set([claim.status?.sandbox?.name, unsure])) {
    const own = name === undefined ? undefined : await findOwn(api, claim, name);
    if (own) return own;
  }
  return undefined;
}

async function give(
  { api, clock, index }: Binder,
  entry: Entry,
  choice: Extract<Choice, { kind: "member" | "cold" }>,
): Promise<Given> {
  const { claim } = entry;
  const now = new Date(clock.now());
  if (choice.kind === "cold") {
    return await postSandbox(api, coldSandbox(claim, choice.pool, choice.template, now), claim);
  }
  entry.unsure = choice.sandbox.metadata.name;
  const given = await putSandbox(api, handedOver(choice.sandbox, claim, index.template(choice.pool), now), claim);
  // Another binder may have given it to the same claim.
  entry.unsure = given === "lost" ? choice.sandbox.metadata.name : undefined;
  return given;
}
