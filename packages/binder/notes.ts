/** Annotates claims: one that gets a Sandbox before it is Ready, all others while no claim is being served. @module */
import type { Sandbox } from "../api/sandbox.ts";
import type { SandboxClaim } from "../api/sandboxclaim.ts";
import { errorFields } from "../process/log.ts";
import { computeStatus, lacks, notesOf } from "../../hooks/sandboxclaim/status.ts";
import { type Binder, type Entry, isServing, type Notes } from "./state.ts";
import { annotateClaim } from "./writes.ts";

/** Claims that are annotated at once. */
const MOST_NOTING = 4;
/** How long annotations may wait for a moment in which no claim does. */
const NOTES_MS = 2000;

/**
 * Annotates a claim with the member that it gets, at the same time as the member is written; the status is written after both.
 * If the claim's status still names a Sandbox that is gone, the claim's hook clears that first, and then annotates the claim.
 */
export function noteBinding(binder: Binder, entry: Entry, claim: SandboxClaim, member: Sandbox, now: Date): void {
  if (claim.status?.sandbox?.name !== undefined) return;
  const annotations = missingNotes(entry, claim, member, now);
  if (!annotations) return;
  binder.notes.remove(entry.namespace, entry.uid);
  entry.isNoted = true;
  entry.noting = annotateClaim(binder.api, claim, annotations).catch((error) => {
    entry.isNoted = false;
    notWritten(binder, claim, error);
    return undefined;
  });
}

/**
 * Annotates a claim with its Sandbox, unless it is: no claim may be Ready without these annotations.
 *
 * @returns the claim as written; undefined: it is gone, or another one has its name
 * @throws {Error} if the API server refuses the annotations, or the write fails
 */
export async function annotated(
  { api, notes }: Binder,
  entry: Entry,
  claim: SandboxClaim,
  sandbox: Sandbox,
  now: Date,
): Promise<SandboxClaim | undefined> {
  const annotations = missingNotes(entry, claim, sandbox, now);
  notes.remove(entry.namespace, entry.uid);
  const written = annotations ? await annotateClaim(api, claim, annotations) : claim;
  entry.isNoted = true;
  return written;
}

/** Returns the annotations of a claim with this Sandbox; undefined: the claim has them all. */
function missingNotes(
  { seenAt }: Entry,
  claim: SandboxClaim,
  sandbox: Sandbox,
  now: Date,
): Record<string, string> | undefined {
  const status = computeStatus({ claim, sandbox, isExpired: false, problem: undefined }, now);
  const annotations = notesOf(claim, sandbox, status, now, new Date(seenAt));
  return lacks(claim, annotations) ? annotations : undefined;
}

/** Writes annotations, a few claims' at once, while no claim is being served, but not for ever: nobody waits for them. */
export function writeNotes(binder: Binder): void {
  const { clock, notes } = binder;
  while (binder.noting < MOST_NOTING && isServing(binder)) {
    const next = notes.take();
    if (!next) return;
    if (binder.serving > 0 && clock.now() - next.at < NOTES_MS) return notes.put(next);
    binder.noting++;
    void writeNote(binder, next).then(() => {
      binder.noting--;
      writeNotes(binder);
    });
  }
}

async function writeNote(binder: Binder, { entry: { claim }, annotations }: Notes): Promise<void> {
  await annotateClaim(binder.api, claim, annotations).catch((error) => notWritten(binder, claim, error));
}

function notWritten({ log }: Binder, { metadata: { namespace, name } }: SandboxClaim, error: unknown): void {
  log("warn", "Cannot annotate a claim", { namespace, name, ...errorFields(error) });
}
