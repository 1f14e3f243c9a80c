/**
 * Chooses what waiting claims get, in turns by namespace and pool (queue.ts, filter.ts, score.ts), and has it written (bind.ts):
 * the scheduling and the binding cycle of kube-scheduler.
 * @module
 */
import { backoffMs } from "../kube/backoff.ts";
import { errorFields } from "../process/log.ts";
import { bind, type Job } from "./bind.ts";
import { type Candidates, candidatesOf, type Choice, choose, policyProblem } from "./filter.ts";
import type { Line } from "./queue.ts";
import { markUnschedulable } from "./reconcile.ts";
import { logFields } from "./spans.ts";
import { standingOf } from "./standing.ts";
import { type Binder, isServing, type QueuedClaim } from "./state.ts";
import { isProjection } from "./store.ts";

/** Claims of a pool that are turned away at once: between so many others are heard. */
const MOST_TURNED_AWAY = 200;
/** Claims that are served at once while what others have given may not have been shown. */
const MOST_UNSURE = 4;

/** Begins to serve as many claims as may be. What a choice changes comes back here, and is seen in the next round. */
export function schedule(binder: Binder): void {
  const { index, binderWorkers } = binder;
  if (binder.isScheduling) return;
  binder.isScheduling = true;
  try {
    while (isServing(binder)) {
      // Until what others have given is known, the API server is asked for each claim: that is to be soon over, and cheap.
      const most = index.freshness.isFresh() ? binderWorkers : Math.min(binderWorkers, MOST_UNSURE);
      if (binder.serving >= most) break;
      const job = binder.queue.take((line) => scheduleNext(binder, line));
      if (!job) break;
      const { namespace, uid } = job.entry;
      binder.serving++;
      if (job.choice) void bind(binder, job);
      else binder.large.add(namespace, uid, () => bind(binder, job));
    }
  } finally {
    binder.isScheduling = false;
  }
}

/** Takes the first claim that can be served from a line, and those that cannot at all. */
function scheduleNext(binder: Binder, line: Line<QueuedClaim>): Job | undefined {
  const { index, queue } = binder;
  const { namespace, pool: name, waiters } = line;
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
    if (!entry.raw || choice.kind === "unknown") return { entry, turn, choice: undefined };
    // Taken before anybody else can look.
    if (choice.kind === "member") index.assume(choice.sandbox);
    return { entry, turn, choice };
  }
  if (wait < Infinity) later(binder, line, wait);
  return undefined;
}

/** Decides for one claim; `unknown`: its template is not kept whole. What cannot be decided of delays this claim, and nobody else. */
function chooseFor(binder: Binder, entry: QueuedClaim, candidates: Candidates): Choice | { kind: "unknown" } {
  const now = binder.clock.now();
  try {
    if (standingOf(entry.claim, binder.index.controlled(entry), now).is !== "wanting") return { kind: "refused" };
    if (candidates.template && isProjection(candidates.template)) return { kind: "unknown" };
    return choose(
      entry.claim,
      { ...candidates, refused: entry.refused },
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

function later(binder: Binder, { namespace, pool }: Line<QueuedClaim>, ms: number): void {
  const key = `${namespace}/${pool}`;
  binder.timers.get(key)?.();
  const cancel = binder.clock.setTimeout(() => {
    binder.timers.delete(key);
    if (binder.queue.wake(namespace, pool)) schedule(binder);
  }, ms);
  binder.timers.set(key, cancel);
}
