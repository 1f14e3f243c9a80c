/** Reconciles one claim: puts it into the queue, marks it unschedulable, or starts a write of its status. @module */
import type { ClaimProblem } from "../api/claims/problem.ts";
import type { SandboxClaim } from "../api/sandboxclaim.ts";
import type { Sandbox } from "../api/sandbox.ts";
import { expiryTime, hasExpired } from "../api/expiry.ts";
import { type Condition, findCondition } from "../api/objects/conditions.ts";
import { backoffMs } from "../kube/backoff.ts";
import { LONGEST_TIMER_MS } from "../process/clock.ts";
import { errorFields } from "../process/log.ts";
import { deliverIfDue } from "./deliver.ts";
import { type ControlledSandbox, type Standing, standingOf } from "./standing.ts";
import { resizeIfDue } from "./resize.ts";
import { type Report, writeReport } from "./report.ts";
import { logFields } from "./spans.ts";
import { keyOf } from "./queue.ts";
import { keptMessage } from "./store.ts";
import { type Binder, dropRetry, dropUnread, isServing, type QueuedClaim, serverNow, withdraw } from "./state.ts";

/**
 * Delay before a problem is reported. `kubectl apply -f folder` creates objects in any order, so a problem that ends
 * within this time was none.
 */
const SETTLE_MS = 1500;

/**
 * Does what a claim's standing requires. A claim that needs a Sandbox is only queued here; the next round of scheduling
 * serves it.
 *
 * @param sandbox the Sandbox whose change led to this call; undefined if another event did
 */
export function reconcile(binder: Binder, entry: QueuedClaim, sandbox?: Sandbox): void {
  if (binder.claims.get(entry.uid) !== entry) return;
  const stands = standing(binder, entry);
  dropUnread(entry, stands.is === "hooks");
  if (!isServing(binder)) return;
  if (mayBind(binder, entry, stands) && stands.is === "assigned" && isDue(binder, entry, stands.assigned)) {
    reportInTurn(binder, entry, sandbox);
  }
  planExpiry(binder, entry);
  if (entry.place === "serving") return;
  if (stands.is !== "wanting") {
    withdraw(binder, entry);
    entry.refusal = undefined;
    if (stands.is !== "hooks" && stands.is !== "assigned") reportInTurn(binder, entry);
    return;
  }
  if (entry.place === "waiting") {
    binder.queue.wake(entry.namespace, entry.pool);
    return;
  }
  withdraw(binder, entry);
  entry.place = "waiting";
  binder.queue.add(entry);
}

/** Starts what the claim's Sandbox still needs while it runs. Returns whether it needs nothing more. */
function mayBind(binder: Binder, entry: QueuedClaim, stands: Standing): boolean {
  const next = { reconcile, report };
  const isDelivered = deliverIfDue(binder, entry, stands, next);
  return resizeIfDue(binder, entry, stands, next) && isDelivered;
}

/** Returns what the binder has to do about a claim, by what this process knows now. */
function standing(binder: Binder, entry: QueuedClaim): Standing {
  return standingOf(entry.claim, binder.index.controlled(entry), serverNow(binder));
}

/**
 * Marks a claim that cannot be served as unschedulable, until the claim, its pool or its template changes. Reports the
 * reason if it persists.
 *
 * @param refused with `awaitsMember`, a change of the pool's members is enough to try again
 */
export function markUnschedulable(
  binder: Binder,
  entry: QueuedClaim,
  { problem, awaitsMember = false }: { problem?: ClaimProblem; awaitsMember?: boolean },
): void {
  entry.place = "unschedulable";
  const places = awaitsMember ? binder.awaitingMember : binder.unschedulable;
  const key = keyOf(entry.namespace, entry.pool);
  places.set(key, (places.get(key) ?? new Set<QueuedClaim>()).add(entry));
  dropUnread(entry, false);
  if (!isServing(binder)) return;
  const ready = findCondition(entry.claim.status?.conditions, "Ready");
  if (!problem || (ready && hasReported(entry.claim, ready, problem))) return;
  const now = binder.clock.now();
  const text = `${problem.reason} ${problem.message}`;
  if (entry.refusal?.text !== text) entry.refusal = { text, reports: 0, notBefore: now + SETTLE_MS };
  const { refusal, namespace, uid } = entry;
  entry.settling = binder.clock.setTimeout(() => {
    entry.settling = undefined;
    // Back off, because the API server may accept a report but not store it.
    refusal.notBefore = binder.clock.now() + backoffMs(refusal.reports++);
    // Queue the reports, because many claims may lack the same pool.
    binder.problemReports.add(namespace, uid, async () => {
      if (isServing(binder) && entry.place === "unschedulable") {
        await report(binder, entry, { is: "wanting", problem, isCertain: false });
      }
    });
  }, Math.max(0, refusal.notBefore - now));
}

function hasReported({ metadata }: SandboxClaim, ready: Condition, { reason, message }: ClaimProblem): boolean {
  return ready.reason === reason && keptMessage(ready.message) === keptMessage(message) &&
    ready.observedGeneration === metadata.generation;
}

/**
 * Returns whether to bind the claim now: its Sandbox has reported a state, the claim has expired, or the claim's status
 * reports a Ready condition that is outdated.
 */
function isDue(binder: Binder, { claim }: QueuedClaim, { hasReported }: ControlledSandbox): boolean {
  return hasReported || hasExpired(claim, serverNow(binder)) ||
    findCondition(claim.status?.conditions, "Ready") !== undefined;
}

/**
 * Reports what a claim's standing requires, in turn with other claims, because one user may change many claims at once.
 *
 * @param sandbox the Sandbox as an event has just shown it, which saves a request; undefined if no event did
 */
function reportInTurn(binder: Binder, entry: QueuedClaim, sandbox?: Sandbox): void {
  binder.reports.add(entry.namespace, entry.uid, async () => {
    if (!isServing(binder) || binder.claims.get(entry.uid) !== entry) return;
    const stands = standing(binder, entry);
    if (stands.is === "hooks" || stands.is === "wanting") return;
    if (stands.is !== "assigned") return await report(binder, entry, { is: stands.is });
    // While the report waited for its turn, the claim may have got another Sandbox.
    if (!mayBind(binder, entry, stands)) return;
    const { name } = stands.assigned;
    const shown = sandbox?.metadata.name === name ? sandbox : undefined;
    await report(binder, entry, { is: "assigned", name, sandbox: shown });
  });
}

/** Writes a report, unless one is being written or a retry is planned. Retries a write that fails. Never rejects. */
export async function report(binder: Binder, entry: QueuedClaim, what: Report): Promise<void> {
  // A planned retry delays only reports of the same kind. Anything else is news that clients wait for.
  if (entry.reporting || (entry.retry && entry.retry.is === what.is && !isCertain(what))) {
    entry.isOverdue = true;
    return;
  }
  dropRetry(entry);
  entry.isOverdue = false;
  entry.reporting = writeReport(binder, entry, what).then((isWritten) => {
    const stands = standing(binder, entry);
    const isOver = stands.is !== what.is;
    if (isOver) entry.reportFailures = 0;
    // The API server has accepted the report, but did not store it.
    else if (isWritten && !entry.isOverdue && what.is !== "wanting") {
      lookAgain(binder, entry, what, backoffMs(entry.reportFailures++));
    } // Nothing was written, and no event may follow: the pool that is missing existed for a moment, or each try had a
    // conflict. An event that does follow must not wait for this retry, except for reports of problems.
    else if (!isWritten && !entry.isOverdue && !isCertain(what)) {
      lookAgain(binder, entry, what.is === "wanting" ? what : undefined, backoffMs(entry.reportFailures++));
    }
    return isOver;
  }, (error) => {
    if (!isServing(binder) || binder.claims.get(entry.uid) !== entry) return false;
    binder.log("warn", "Cannot write the status of a claim", { ...logFields(entry.claim), ...errorFields(error) });
    lookAgain(binder, entry, what, backoffMs(entry.reportFailures++));
    return false;
  }).then((isOver) => {
    entry.reporting = undefined;
    // If nothing has changed, reconciling again would loop.
    if (entry.retry || entry.place === "serving" || !(isOver || entry.isOverdue)) return;
    reconcile(binder, entry);
    binder.schedule();
  }).catch((error) =>
    binder.log("error", "Cannot go on with a claim", { ...logFields(entry.claim), ...errorFields(error) })
  );
  await entry.reporting;
}

function isCertain(report: Report): boolean {
  return report.is === "wanting" && report.isCertain;
}

/** Reconciles a claim later. Until then, reports of the same kind as `blocked` wait; undefined: no report waits. */
function lookAgain(binder: Binder, entry: QueuedClaim, blocked: Report | undefined, ms: number): void {
  dropRetry(entry);
  if (!isServing(binder)) return;
  const cancel = binder.clock.setTimeout(() => {
    entry.retry = undefined;
    reconcile(binder, entry);
    binder.schedule();
  }, ms);
  entry.retry = { is: blocked?.is, cancel };
}

/** Plans to reconcile a claim when it expires, if it is not bound. */
function planExpiry(binder: Binder, entry: QueuedClaim): void {
  entry.alarm?.();
  entry.alarm = undefined;
  const { claim } = entry;
  const wait = (expiryTime(claim) ?? 0) - serverNow(binder);
  if (wait <= 0 || binder.index.controlled(entry).find(claim.status?.sandbox?.name)) return;
  entry.alarm = binder.clock.setTimeout(() => {
    entry.alarm = undefined;
    reconcile(binder, entry);
    binder.schedule();
  }, Math.min(wait, LONGEST_TIMER_MS));
}
