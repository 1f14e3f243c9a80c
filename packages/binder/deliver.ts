/**
 * Delivers a claim's variables to its Sandbox while that runs (late binding): before the claim is bound, and again for
 * each later start of its Pod. @module
 */
import { lateVariables } from "../api/claims/latebinding.ts";
import { deliveryFailed } from "../api/claims/problem.ts";
import { hasExpired } from "../api/expiry.ts";
import { backoffMs } from "../kube/backoff.ts";
import { errorFields } from "../process/log.ts";
import { secretValues } from "./claimsecrets.ts";
import type { Report } from "./report.ts";
import { logFields } from "./spans.ts";
import type { ControlledSandbox, Standing } from "./standing.ts";
import { type Binder, DeliveryRefused, getClaim, isServing, parseClaim, type QueuedClaim, serverNow } from "./state.ts";
import { deleteSandbox } from "./writes.ts";

/** Failures of one Sandbox before a claim reports them, or its Sandbox is discarded. */
const MOST_FAILURES = 3;
/** Sandboxes that one claim discards: if these refuse the variables, the template is the cause. */
const MOST_DISCARDED = 2;

/** What happens to the claim after a delivery. */
interface Next {
  reconcile(binder: Binder, entry: QueuedClaim): void;
  report(binder: Binder, entry: QueuedClaim, what: Report): Promise<void>;
}

/**
 * Starts a delivery if one is due.
 *
 * @returns whether the claim may be bound: its Sandbox has the variables, needs none, or waits for them itself
 */
export function deliverIfDue(binder: Binder, entry: QueuedClaim, stands: Standing, next: Next): boolean {
  const { claim } = entry;
  const isBound = stands.is === "hooks" && claim.metadata.deletionTimestamp === undefined;
  const bound = isBound ? binder.index.controlled(entry).find(claim.status?.sandbox?.name) : undefined;
  const sandbox = stands.is === "assigned" ? stands.assigned : bound;
  if (sandbox?.lateStart === undefined || hasExpired(claim, serverNow(binder))) return true;
  if (sandbox.lateStart === entry.delivered) return true;
  if (sandbox.lateStart !== "waiting" && !entry.redelivery && entry.delivering !== sandbox.lateStart) {
    binder.deliveries.add(entry.namespace, entry.uid, () => deliver(binder, entry, sandbox, !isBound, next));
  }
  return sandbox.isCold;
}

async function deliver(
  binder: Binder,
  entry: QueuedClaim,
  { name, uid, lateStart, isCold }: ControlledSandbox,
  isFirst: boolean,
  next: Next,
): Promise<void> {
  const { api, clock, log } = binder;
  const isOver = () => !isServing(binder) || binder.claims.get(entry.uid) !== entry;
  if (isOver() || entry.delivered === lateStart || entry.delivering === lateStart || entry.redelivery) return;
  entry.delivering = lateStart;
  try {
    const raw = entry.raw ?? await getClaim(api, entry.claim);
    const claim = raw && parseClaim(raw);
    if (isOver()) return;
    // The watch will show that it is gone.
    if (!claim) return;
    const { namespace } = entry;
    const env = { ...lateVariables(claim, isCold), ...await secretValues(api, claim) };
    if (isOver()) return;
    // A Sandbox of its own makes the claim Ready at once, so programs may bind variables already.
    await binder.deliver({ namespace, name, uid, claim: entry.uid }, env, isFirst && !isCold ? "first" : "again");
    entry.delivered = lateStart;
    entry.deliveryFailures = 0;
  } catch (error) {
    if (isOver()) return;
    log("warn", "Cannot deliver the variables of a claim", {
      ...logFields(entry.claim),
      sandbox: name,
      ...errorFields(error),
    });
    const delay = backoffMs(entry.deliveryFailures++);
    entry.redelivery = clock.setTimeout(() => {
      entry.redelivery = undefined;
      next.reconcile(binder, entry);
      binder.schedule();
    }, delay);
    if (isFirst && entry.deliveryFailures >= MOST_FAILURES) await giveUp(binder, entry, name, error as Error, next);
    return;
  } finally {
    if (entry.delivering === lateStart) entry.delivering = undefined;
  }
  next.reconcile(binder, entry);
  binder.schedule();
}

/** Discards a pool member that refuses the variables, so that the claim gets another one, or reports the failure. */
async function giveUp(binder: Binder, entry: QueuedClaim, name: string, error: Error, next: Next): Promise<void> {
  const assigned = binder.index.controlled(entry).find(name);
  if (error instanceof DeliveryRefused && assigned && !assigned.isCold && entry.discarded < MOST_DISCARDED) {
    entry.discarded++;
    entry.deliveryFailures = 0;
    await deleteSandbox(binder.api, { namespace: entry.namespace, name, uid: assigned.uid }).catch((failure) =>
      binder.log("warn", "Cannot delete a Sandbox", {
        ...logFields(entry.claim),
        sandbox: name,
        ...errorFields(failure),
      })
    );
    return;
  }
  await next.report(binder, entry, { is: "undelivered", problem: deliveryFailed(error.message) });
}
