/** Says of a claim what it was given: its first status, then its annotations. Tries again what fails. @module */
import { wordText } from "../api/claimproblem.ts";
import type { Sandbox } from "../api/sandbox.ts";
import type { SandboxClaim } from "../api/sandboxclaim.ts";
import { isBinders, isUntold } from "../claims/binding.ts";
import { creationRefused } from "../claims/unserved.ts";
import { notesOf } from "../hooks/sandboxclaim/notes.ts";
import { computeStatus } from "../hooks/sandboxclaim/status.ts";
import { backoffMs } from "../kube/backoff.ts";
import { findCondition } from "../lib/conditions.ts";
import { UNRESOLVED_ANNOTATION } from "../lib/keys.ts";
import { errorFields } from "../lib/log.ts";
import { type Binder, type Entry, isServing, type Notes, takeNote } from "./state.ts";
import { annotateClaim, findOwn, putStatus } from "./writes.ts";

/** Claims that are annotated at once. */
const MOST_NOTING = 4;
/** How long annotations may wait for a moment in which no claim does. */
const NOTES_MS = 2000;
/** How long they may wait for the Sandbox to settle: its status is the last that the claim's hook would be asked for. */
const SETTLE_MS = 1000;

/** Says for a claim what it was given, as soon as that is Ready; whatever takes longer, and all that comes later, its hook says. */
export function tellIfReady(binder: Binder, entry: Entry, sandbox: Sandbox): void {
  if (entry.isTold || entry.retry || !isServing(binder) || !isBinders(entry.claim, sandbox, binder.clock.now())) return;
  entry.telling = tell(binder, entry, sandbox).finally(() => entry.telling = undefined);
}

/** Says for a claim what it was given by a binder that came no further, or by this one. */
export async function finish(binder: Binder, entry: Entry): Promise<void> {
  const name = binder.index.boundTo(entry.uid);
  if (entry.isTold || name === undefined || !isServing(binder)) return;
  try {
    const sandbox = await findOwn(binder.api, entry.claim, name);
    if (sandbox && !entry.isTold && isUntold(entry.claim, sandbox)) await tell(binder, entry, sandbox);
  } catch (error) {
    failed(binder, entry, "Cannot look at a claim's Sandbox", error);
  }
}

/** Writes that a claim is Ready, unless it says so, or says what is in the way; tries again if that fails. */
async function tell(binder: Binder, entry: Entry, sandbox: Sandbox): Promise<void> {
  entry.isTold = true;
  const now = new Date(binder.clock.now());
  const compute = (claim: SandboxClaim) =>
    isUntold(claim, sandbox) ? computeStatus({ claim, sandbox, isExpired: false, problem: undefined }, now) : undefined;
  try {
    const written = await putStatus(binder.api, entry.raw, compute);
    entry.tellFailures = 0;
    // As it was before: the watch may have shown our own write by now.
    const { status, ...before } = written ?? entry.raw;
    const notes = written && status && notesOf(before, sandbox, status, now, new Date(entry.seenAt));
    takeNote(binder, entry, notes, isSettled(entry, sandbox) ? 0 : SETTLE_MS);
    writeNotes(binder);
  } catch (error) {
    entry.isTold = false;
    failed(binder, entry, "Cannot write the status of a claim", error);
  }
}

/** Tries again later, and no sooner, whatever is heard of the Sandbox meanwhile. */
function failed(binder: Binder, entry: Entry, message: string, error: unknown): void {
  if (!isServing(binder) || binder.claims.get(entry.uid) !== entry) return;
  const { namespace, name } = entry.claim.metadata;
  binder.log("warn", message, { namespace, name, ...errorFields(error) });
  dropRetry(entry);
  entry.retry = binder.clock.setTimeout(() => {
    entry.retry = undefined;
    void finish(binder, entry);
  }, backoffMs(entry.tellFailures++));
}

/** Plans no further try. */
export function dropRetry(entry: Entry): void {
  entry.retry?.();
  entry.retry = undefined;
}

/** Takes note of what the claim's Sandbox says by now; annotations that wait for it to settle are written when it has. */
export function settle(binder: Binder, entry: Entry, sandbox: Sandbox): void {
  const { metadata: { generation = 0 }, status } = sandbox;
  const ready = findCondition(status?.conditions, "Ready");
  // What is shown may be older than what was shown before.
  if (ready?.observedGeneration === generation) entry.settled = Math.max(entry.settled, generation);
  const notes = binder.notes.get(entry.uid);
  if (!notes || !isSettled(entry, sandbox)) return;
  notes.notBefore = notes.at;
  writeNotes(binder);
}

function isSettled({ settled }: Entry, { metadata: { generation = 0 } }: Sandbox): boolean {
  return settled > 0 && settled >= generation;
}

/** Writes annotations, a few claims' at once, while no claim is being served, but not for ever: nobody waits for them. */
export function writeNotes(binder: Binder): void {
  const { clock, notes } = binder;
  binder.cancelNoting();
  while (binder.noting < MOST_NOTING && isServing(binder)) {
    const now = clock.now();
    const next = notes.values().find(({ notBefore }) => notBefore <= now);
    if (!next) return noteLater(binder, now);
    if (binder.serving > 0 && now - next.at < NOTES_MS) return;
    notes.delete(next.entry.uid);
    binder.noting++;
    void writeNote(binder, next).then(() => {
      binder.noting--;
      writeNotes(binder);
    });
  }
}

async function writeNote({ api, log }: Binder, { entry: { claim }, annotations }: Notes): Promise<void> {
  await annotateClaim(api, claim, annotations).catch((error) => {
    const { namespace, name } = claim.metadata;
    log("warn", "Cannot annotate a claim: the keeper will", { namespace, name, ...errorFields(error) });
  });
}

function noteLater(binder: Binder, now: number): void {
  const soonest = Math.min(...binder.notes.values().map(({ notBefore }) => notBefore));
  if (soonest === Infinity) return;
  binder.cancelNoting = binder.clock.setTimeout(() => writeNotes(binder), soonest - now);
}

/** Leaves word of why the claim cannot be given a Sandbox, for its hook to say; the keeper takes it back once it has one. */
export async function sayRefused({ api, log }: Binder, { claim }: Entry, { message }: Error): Promise<void> {
  const text = wordText(claim, creationRefused(message));
  if (claim.metadata.annotations?.[UNRESOLVED_ANNOTATION] === text) return;
  await annotateClaim(api, claim, { [UNRESOLVED_ANNOTATION]: text }).catch((error) => {
    const { namespace, name } = claim.metadata;
    log("warn", "Cannot annotate a claim", { namespace, name, ...errorFields(error) });
  });
}
