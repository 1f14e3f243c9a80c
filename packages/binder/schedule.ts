/**
 * Chooses Sandboxes for waiting claims and starts their bindings (bind.ts). Namespaces and pools take turns (queue.ts);
 * filter.ts and score.ts choose. This is the scheduling cycle of kube-scheduler; bind.ts is its binding cycle.
 * @module
 */
import { backoffMs } from "../kube/backoff.ts";
import { errorFields } from "../process/log.ts";
import { bind, type Job } from "./bind.ts";
import { type Candidates, candidatesOf, type Choice, choose, policyProblem } from "./filter.ts";
import type { PoolQueue } from "./queue.ts";
import { markUnschedulable } from "./reconcile.ts";
import { logFields } from "./spans.ts";
import { standingOf } from "./standing.ts";
import { type Binder, isServing, mustRead, type QueuedClaim, serverNow } from "./state.ts";
import { isProjection } from "./store.ts";

/** Claims of one pool that are marked unschedulable without a break. After that, other work gets its turn. */
const MOST_TURNED_AWAY = 200;
/** Claims that are served at the same time while bindings by the previous leader may not have been shown yet. */
const MOST_UNSURE = 4;

/**
 * Starts to serve as many claims as the limits allow. A choice can trigger this function again; that call returns at
 * once, and the loop sees the change in its next round.
 */
export function schedule(binder: Binder): void {
  const { index, binderWorkers } = binder;
  if (binder.isScheduling) return;
  binder.isScheduling = true;
  try {
    while (isServing(binder)) {
      // Until all earlier bindings are known, each claim costs an extra request. So the limit is low: this phase is
      // short, and must be cheap.
      const most = index.freshness.isFresh() ? binderWorkers : Math.min(binderWorkers, MOST_UNSURE);
      if (binder.serving >= most) break;
      const job = binder.queue.take((poolQueue) => scheduleNext(binder, poolQueue));
      if (!job) break;
      const { namespace, uid } = job.entry;
      binder.serving++;
      if (job.choice) void bind(binder, job);
      // Not the UID alone: work with the same key would replace work that waits, and a job must end.
      else binder.large.add(namespace, `${uid} ${binder.largeJobs++}`, () => bind(binder, job));
    }
  } finally {
    binder.isScheduling = false;
  }
}

/** Takes the first claim that can be served out of the queue of a pool. On the way, removes the claims that cannot be served. */
function scheduleNext(binder: Binder, poolQueue: PoolQueue<QueuedClaim>): Job | undefined {
  const { index, queue } = binder;
  const { namespace, pool: name, waiters } = poolQueue;
  const now = binder.clock.now();
  const { pool, template, policy, members } = index.snapshot(namespace, name);
  const fault = policyProblem(policy, binder.templateNetworkPolicy, template);
  const candidates = candidatesOf(pool, template, members, now, fault);
  let wait = Infinity;
  let turnedAway = 0;
  for (const entry of [...waiters]) {
    if (entry.notBefore > now) {
      wait = Math.min(wait, entry.notBefore - now);
      continue;
    }
    const choice = chooseFor(binder, entry, candidates);
    if (choice.kind === "wait") {
      candidates.waiting++;
      wait = Math.min(wait, choice.ms);
      continue;
    }
    queue.remove(entry);
    if (choice.kind === "refused") {
      markUnschedulable(binder, entry, choice);
      if (++turnedAway < MOST_TURNED_AWAY) continue;
      wait = 0;
      break;
    }
    const turn = { ...entry };
    entry.place = "serving";
    if (mustRead(binder, entry) || choice.kind === "unknown") return { entry, turn, choice: undefined };
    // Reserve the member at once, so that no other claim gets it.
    if (choice.kind === "member") index.assume(choice.sandbox);
    return { entry, turn, choice };
  }
  if (wait < Infinity) later(binder, poolQueue, wait);
  return undefined;
}

/**
 * Chooses for one claim; `unknown`: only a projection of the template is kept. If the choice fails, only this claim is
 * delayed.
 */
function chooseFor(binder: Binder, entry: QueuedClaim, candidates: Candidates): Choice | { kind: "unknown" } {
  const now = binder.clock.now();
  try {
    if (standingOf(entry.claim, binder.index.controlled(entry), serverNow(binder)).is !== "wanting") {
      return { kind: "refused" };
    }
    if (candidates.template && isProjection(candidates.template)) return { kind: "unknown" };
    return choose(
      entry.claim,
      { ...candidates, refused: entry.refused, notResized: entry.notResized },
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

function later(binder: Binder, { namespace, pool }: PoolQueue<QueuedClaim>, ms: number): void {
  const key = `${namespace}/${pool}`;
  binder.timers.get(key)?.();
  const cancel = binder.clock.setTimeout(() => {
    binder.timers.delete(key);
    if (binder.queue.wake(namespace, pool)) schedule(binder);
  }, ms);
  binder.timers.set(key, cancel);
}
