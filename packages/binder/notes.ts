/** Writes the annotations of claims: with the Sandbox that a claim is given, before it is Ready; of others while no claim is served. @module */
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
 * Annotates a claim with the member that it is being given, while that is written: the status, which comes after both, waits
 * for neither in turn. One that still shows a Sandbox, which is gone, its hook annotates once it has taken that back.
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
 * Annotates a claim with the Sandbox that it has, if it is not yet: no claim may be Ready without.
 *
 * @returns the claim as it is then; undefined: it is gone, or another one has its name
 * @throws {Error} if the annotations are refused, or have not come through
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
