/** When the annotations of claims are written: each claim's once, as soon as its hook would not be asked twice. @module */
import type { Sandbox } from "../api/sandbox.ts";
import { findCondition } from "../api/objects/conditions.ts";
import { errorFields } from "../process/log.ts";
import { type Binder, type Entry, isServing, type Notes, takeNote } from "./state.ts";
import { annotateClaim } from "./writes.ts";

/** Claims that are annotated at once. */
const MOST_NOTING = 4;
/** How long annotations may wait for a moment in which no claim does. */
const NOTES_MS = 2000;
/** How long they may wait for the Sandbox to settle: its status is the last that the claim's hook would be asked for. */
const SETTLE_MS = 5000;

/** Takes note of what the claim's Sandbox says by now; annotations that wait for it to settle are written when it has. */
export function settle(binder: Binder, entry: Entry, sandbox: Sandbox): void {
  const { metadata: { generation = 0 }, status } = sandbox;
  const ready = findCondition(status?.conditions, "Ready");
  // What is shown may be older than what was shown before.
  if (ready?.observedGeneration === generation) entry.settled = Math.max(entry.settled, generation);
  if (isSettled(entry, sandbox)) hasten(binder, entry);
}

/** Has annotations that wait for a Sandbox to settle written now: there is something to ask the claim's hook. */
export function hasten(binder: Binder, { namespace, uid }: Entry): void {
  const notes = binder.notes.get(namespace, uid);
  if (!notes) return;
  notes.notBefore = notes.at;
  writeNotes(binder);
}

/** Annotates a claim that has been told of its Sandbox, now if that has settled, else soon. */
export function noteTold(
  binder: Binder,
  entry: Entry,
  sandbox: Sandbox,
  notes: Record<string, string> | undefined,
): void {
  takeNote(binder, entry, notes, isSettled(entry, sandbox) ? 0 : SETTLE_MS);
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
    const next = notes.take(now);
    if (!next) return noteLater(binder, now);
    if (binder.serving > 0 && now - next.at < NOTES_MS) return notes.put(next);
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
  const soonest = binder.notes.soonest();
  if (soonest === Infinity) return;
  binder.cancelNoting = binder.clock.setTimeout(() => writeNotes(binder), soonest - now);
}
