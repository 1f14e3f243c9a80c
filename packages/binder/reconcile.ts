/** Reconciles one claim: puts it into the queue, marks it unschedulable, or has its status written. @module */
import type { ClaimProblem } from "../api/claimproblem.ts";
import type { Sandbox } from "../api/sandbox.ts";
import { expiryTime, hasExpired } from "../api/expiry.ts";
import { findCondition } from "../api/objects/conditions.ts";
import { backoffMs } from "../kube/backoff.ts";
import { LONGEST_TIMER_MS } from "../process/clock.ts";
import { errorFields } from "../process/log.ts";
import { type ControlledSandbox, standingOf } from "./standing.ts";
import { type Report, writeReport } from "./report.ts";
import { logFields } from "./spans.ts";
import { keyOf } from "./queue.ts";
import { type Binder, dropRetry, dropUnread, isServing, type QueuedClaim } from "./state.ts";

/** `kubectl apply -f folder` brings objects in any order: what is gone within this was never wrong. */
const SETTLE_MS = 1500;

/**
 * Does what a claim's standing asks for. Claims that want a Sandbox are served when the next ones are.
 *
 * @param sandbox the Sandbox that has brought us here; undefined: another event
 */
export function reconcile(binder: Binder, entry: QueuedClaim, sandbox?: Sandbox): void {
  if (binder.claims.get(entry.uid) !== entry) return;
  const stands = standingOf(entry.claim, binder.index.controlled(entry), binder.clock.now());
  dropUnread(entry, stands.is === "hooks");
  if (!isServing(binder)) return;
  if (stands.is === "given" && isDue(binder, entry, stands.given)) reportInTurn(binder, entry, sandbox);
  planExpiry(binder, entry);
  if (entry.place === "serving") return;
  if (stands.is !== "wanting") {
    withdraw(binder, entry);
    entry.refusal = undefined;
    if (stands.is !== "hooks" && stands.is !== "given") reportInTurn(binder, entry);
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

/** Takes a claim out of line; one that is being served is seen to when that is over. */
export function withdraw(binder: Binder, entry: QueuedClaim): void {
  if (entry.place === "serving") return;
  entry.settling?.();
  entry.settling = undefined;
  if (entry.place === "waiting") binder.queue.remove(entry);
  const key = keyOf(entry.namespace, entry.pool);
  for (const places of [binder.unschedulable, binder.awaitingMember]) {
    const entries = places.get(key);
    entries?.delete(entry);
    if (entries?.size === 0) places.delete(key);
  }
  entry.place = "idle";
}

/**
 * Sets a claim aside that can be given nothing as things are, until it, its pool or template has changed, and reports why if
 * that lasts.
 *
 * @param refused with `awaitsMember` a member of the pool is enough
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
  if (!problem || (ready?.reason === problem.reason && ready.message === problem.message)) return;
  const now = binder.clock.now();
  const text = `${problem.reason} ${problem.message}`;
  if (entry.refusal?.text !== text) entry.refusal = { text, reports: 0, notBefore: now + SETTLE_MS };
  const { refusal, namespace, uid } = entry;
  entry.settling = binder.clock.setTimeout(() => {
    entry.settling = undefined;
    // A report that the API server takes and does not keep is not to be made without end.
    refusal.notBefore = binder.clock.now() + backoffMs(refusal.reports++);
    // Many claims may lack the same pool.
    binder.problemReports.add(namespace, uid, async () => {
      if (isServing(binder) && entry.place === "unschedulable") {
        await report(binder, entry, { is: "wanting", problem, isCertain: false });
      }
    });
  }, Math.max(0, refusal.notBefore - now));
}

/** A claim is bound once its Sandbox has reported its state, or at once if the claim has expired or reports something that is over. */
function isDue({ clock }: Binder, { claim }: QueuedClaim, { hasReported }: ControlledSandbox): boolean {
  return hasReported || hasExpired(claim, clock.now()) ||
    findCondition(claim.status?.conditions, "Ready") !== undefined;
}

/**
 * Reports what a claim's standing asks for as soon as its turn comes: one user may change any number of claims at once.
 *
 * @param sandbox a Sandbox as it was shown just now, which need not be asked for; undefined: none was
 */
function reportInTurn(binder: Binder, entry: QueuedClaim, sandbox?: Sandbox): void {
  binder.reports.add(entry.namespace, entry.uid, async () => {
    if (!isServing(binder) || binder.claims.get(entry.uid) !== entry) return;
    const stands = standingOf(entry.claim, binder.index.controlled(entry), binder.clock.now());
    if (stands.is === "hooks" || stands.is === "wanting") return;
    if (stands.is !== "given") return await report(binder, entry, { is: stands.is });
    const { name } = stands.given;
    const shown = sandbox?.metadata.name === name ? sandbox : undefined;
    await report(binder, entry, { is: "given", name, sandbox: shown });
  });
}

/** Writes a report, unless one is being written or is to be tried again; tries again what fails. Never fails. */
export async function report(binder: Binder, entry: QueuedClaim, what: Report): Promise<void> {
  if (entry.reporting || entry.retry) {
    entry.isOverdue = true;
    return;
  }
  entry.isOverdue = false;
  entry.reporting = writeReport(binder, entry, what).then((isWritten) => {
    const stands = standingOf(entry.claim, binder.index.controlled(entry), binder.clock.now());
    const isOver = stands.is !== what.is;
    if (isOver) entry.reportFailures = 0;
    // The API server has taken the report, and has not kept it.
    else if (isWritten && !entry.isOverdue && what.is !== "wanting") {
      lookAgain(binder, entry, backoffMs(entry.reportFailures++));
    }
    return isOver;
  }, (error) => {
    if (!isServing(binder) || binder.claims.get(entry.uid) !== entry) return false;
    binder.log("warn", "Cannot write the status of a claim", { ...logFields(entry.claim), ...errorFields(error) });
    lookAgain(binder, entry, backoffMs(entry.reportFailures++));
    return false;
  }).then((isOver) => {
    entry.reporting = undefined;
    // Without news it is not looked at again: that would go round.
    if (entry.retry || entry.place === "serving" || !(isOver || entry.isOverdue)) return;
    reconcile(binder, entry);
    binder.schedule();
  }).catch((error) =>
    binder.log("error", "Cannot go on with a claim", { ...logFields(entry.claim), ...errorFields(error) })
  );
  await entry.reporting;
}

function lookAgain(binder: Binder, entry: QueuedClaim, ms: number): void {
  dropRetry(entry);
  if (!isServing(binder)) return;
  entry.retry = binder.clock.setTimeout(() => {
    entry.retry = undefined;
    reconcile(binder, entry);
    binder.schedule();
  }, ms);
}

/** Has a claim that is not bound looked at when it expires. */
function planExpiry(binder: Binder, entry: QueuedClaim): void {
  entry.alarm?.();
  entry.alarm = undefined;
  const { claim } = entry;
  const wait = (expiryTime(claim) ?? 0) - binder.clock.now();
  if (wait <= 0 || binder.index.controlled(entry).find(claim.status?.sandbox?.name)) return;
  entry.alarm = binder.clock.setTimeout(() => {
    entry.alarm = undefined;
    reconcile(binder, entry);
    binder.schedule();
  }, Math.min(wait, LONGEST_TIMER_MS));
}
