/** Says of a claim what it was given: its first status, and what it cannot have. Tries again what fails. @module */
import { type ClaimProblem, problemText } from "../api/claimproblem.ts";
import type { Sandbox } from "../api/sandbox.ts";
import type { SandboxClaim } from "../api/sandboxclaim.ts";
import { isBinders, isUntold } from "../api/claims/binding.ts";
import { computeStatus } from "../../hooks/sandboxclaim/status.ts";
import { backoffMs } from "../kube/backoff.ts";
import { UNRESOLVED_ANNOTATION } from "../api/objects/keys.ts";
import { errorFields } from "../process/log.ts";
import { annotated, writeNotes } from "./notes.ts";
import { inSpan, logFields } from "./spans.ts";
import { type Binder, type Entry, isServing, takeNote } from "./state.ts";
import { askForClaim, keepLess } from "./whole.ts";
import { annotateClaim, findOwn, putStatus } from "./writes.ts";

/** Says for a claim what it was given, as soon as that is Ready; whatever takes longer, and all that comes later, its hook says. */
export function tellIfReady(binder: Binder, entry: Entry, sandbox: Sandbox): void {
  if (entry.isTold || entry.retry || !isServing(binder) || !isBinders(entry.claim, sandbox, binder.clock.now())) return;
  entry.telling = tell(binder, entry, sandbox).finally(() => entry.telling = undefined);
}

/** Says for a claim what it was given by a binder that came no further, or by this one. */
export async function finish(binder: Binder, entry: Entry): Promise<void> {
  const name = binder.index.boundTo(entry.namespace, entry.uid);
  if (entry.isTold || name === undefined || !isServing(binder)) return;
  try {
    const sandbox = await findOwn(binder.api, entry.claim, name);
    if (sandbox && !entry.isTold && isUntold(entry.claim, sandbox)) await tell(binder, entry, sandbox);
  } catch (error) {
    failed(binder, entry, "Cannot look at a claim's Sandbox", error);
  }
}

/** Writes that a claim is Ready, after its annotations, unless its status says so or names a problem; retries if that fails. */
async function tell(binder: Binder, entry: Entry, sandbox: Sandbox): Promise<void> {
  entry.isTold = true;
  // From here on the entry's claim may be cut down at any moment, and then lacks its trace context.
  const { claim: traced } = entry;
  const now = new Date(binder.clock.now());
  const compute = (claim: SandboxClaim) =>
    isUntold(claim, sandbox) ? computeStatus({ claim, sandbox, isExpired: false, problem: undefined }, now) : undefined;
  try {
    const noted = await entry.noting;
    const observed = noted ?? entry.raw ?? await askForClaim(binder.api, entry.claim);
    if (observed && compute(observed)) {
      await inSpan(binder, traced, "hookbox.write_claim_status", async () => {
        const claim = await annotated(binder, entry, observed, sandbox, now);
        return claim && await putStatus(binder.api, claim, compute);
      });
    }
    entry.tellFailures = 0;
    takeNote(binder, entry);
    writeNotes(binder);
    keepLess(binder, entry);
  } catch (error) {
    entry.isTold = false;
    failed(binder, entry, "Cannot write the status of a claim", error);
  }
}

/** Tries again later, and no sooner, whatever is heard of the Sandbox meanwhile. */
function failed(binder: Binder, entry: Entry, message: string, error: unknown): void {
  if (!isServing(binder) || binder.claims.get(entry.uid) !== entry) return;
  binder.log("warn", message, { ...logFields(entry.claim), ...errorFields(error) });
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

/** Leaves word of why the claim cannot be given a Sandbox, for its hook to say; the keeper takes it back once it has one. */
export async function sayProblem({ api, log }: Binder, { claim }: Entry, problem: ClaimProblem): Promise<void> {
  const text = problemText(claim, problem);
  if (claim.metadata.annotations?.[UNRESOLVED_ANNOTATION] === text) return;
  await annotateClaim(api, claim, { [UNRESOLVED_ANNOTATION]: text }).catch((error) => {
    const { namespace, name } = claim.metadata;
    log("warn", "Cannot annotate a claim", { namespace, name, ...errorFields(error) });
  });
}
