/**
 * Delivers CloudEvents. The events of one Sandbox are sent one after the other, each until the receiver has accepted
 * it. A few Sandboxes are served at the same time, and namespaces take turns. Waiting events are kept only in memory,
 * up to a limit.
 * @module
 */
import type { Sandbox } from "../api/sandbox.ts";
import { backoffMs } from "../kube/backoff.ts";
import { createReconcileQueue, type Reconciler } from "../kube/reconcilequeue.ts";
import type { EventHandler } from "../kube/watch.ts";
import { type Clock, systemClock } from "../process/clock.ts";
import { COMPLAINT_MS, type Log } from "../process/log.ts";
import { type CloudEvent, cloudEventOf } from "./cloudevent.ts";
import { createLifecycle } from "./lifecycle.ts";
import type { CloudEventsOptions } from "./options.ts";
import { createReceiver, type Outcome, type Receiver } from "./receiver.ts";

/** The result of a delivery; `failed`: one of several tries has failed. */
export type Result = "delivered" | "failed" | "refused" | "dropped";

export interface DeliveryOptions {
  receiver: Receiver;
  log: Log;
  /** Called with each result and the number of events that are waiting then. */
  onResult(result: Result, waiting: number): void;
  /** @default {systemClock} */
  clock?: Clock;
}

/** Events that are sent at the same time. */
const CONCURRENCY = 8;
/** An event that the receiver has not accepted within this time is dropped. */
const PATIENCE_MS = 24 * 3600_000;
/** Limits of waiting events, in total and per namespace. The second limit leaves room for other namespaces. */
const MOST = 10_000;
const MOST_OF_NAMESPACE = 2000;
/** After this many failures in a row, the receiver is considered down, and all events wait. */
const FAILURES_OF_RECEIVER = CONCURRENCY;

/** The waiting events of one Sandbox, oldest first. Never empty, except during an update. */
interface Line {
  metadata: { uid: string; name: string; namespace: string };
  events: { event: CloudEvent; since: number }[];
  failures: number;
  notBefore: number;
}

/** Creates the function that queues an event for delivery and returns at once. `signal` ends all deliveries. */
export function createDelivery(options: DeliveryOptions, signal: AbortSignal): (event: CloudEvent) => void {
  const { receiver, log, onResult, clock = systemClock } = options;
  const lines = new Map<string, Line>();
  const waiting = createCount();
  const health = createHealth(log, clock);

  function settle(line: Line, result: Result): void {
    line.events.shift();
    line.failures = line.notBefore = 0;
    if (line.events.length === 0) lines.delete(line.metadata.uid);
    waiting.add(line.metadata.namespace, -1);
    onResult(result, waiting.total());
  }

  function read(outcome: Outcome, line: Line, { event, since }: Line["events"][number]): void {
    const { id, type } = event;
    if (outcome.verdict === "delivered") {
      health.worked();
      return settle(line, "delivered");
    }
    const { error } = outcome;
    if (outcome.verdict === "refused") {
      health.worked();
      log("warn", "CloudEvent refused", { id, type, error });
      return settle(line, "refused");
    }
    onResult("failed", waiting.total());
    health.failed(error, outcome.afterMs, waiting.total());
    line.notBefore = clock.now() + backoffMs(line.failures++);
    if (clock.now() - since < PATIENCE_MS) return;
    log("warn", "CloudEvent dropped: not delivered within a day", { id, type, error });
    settle(line, "dropped");
  }

  const reconciler: Reconciler<Line> = {
    name: "CloudEvents",
    memory: new Map(),
    dueAt: ({ events, notBefore }) => events.length === 0 ? undefined : Math.max(notBefore, health.pausedUntil()),
    async reconcile(line) {
      const [first] = line.events;
      if (!first) return;
      const outcome = await receiver(first.event, signal);
      if (!signal.aborted) read(outcome, line, first);
    },
  };
  const queue = createReconcileQueue(reconciler, { log, concurrency: CONCURRENCY, clock }, signal);

  return (event) => {
    const { namespace, name, uid } = event.data;
    if (waiting.total() >= MOST || waiting.of(namespace) >= MOST_OF_NAMESPACE) {
      health.full(namespace);
      return onResult("dropped", waiting.total());
    }
    waiting.add(namespace, 1);
    const line = lines.get(uid) ?? { metadata: { uid, name, namespace }, events: [], failures: 0, notBefore: 0 };
    lines.set(uid, line);
    line.events.push({ event, since: clock.now() });
    queue.observe(line);
  };
}

/** Counts the waiting events, by namespace and in total. */
function createCount() {
  const counts = new Map<string, number>();
  let total = 0;
  const of = (namespace: string) => counts.get(namespace) ?? 0;
  return {
    of,
    total: () => total,
    add(namespace: string, more: number) {
      total += more;
      const count = of(namespace) + more;
      if (count === 0) counts.delete(namespace);
      else counts.set(namespace, count);
    },
  };
}

/** Tracks whether the receiver fails, and until when no event is sent to it. Logs failures at a limited rate. */
function createHealth(log: Log, clock: Clock) {
  let inARow = 0;
  let pauses = 0;
  let pausedUntil = 0;
  /** Whether a failure was logged, and no event has been accepted since. */
  let isFailing = false;
  const complainedAt = { failing: -Infinity, full: -Infinity };
  const complain = (of: keyof typeof complainedAt, message: string, fields: Record<string, unknown>) => {
    if (clock.now() - complainedAt[of] < COMPLAINT_MS) return false;
    complainedAt[of] = clock.now();
    log("warn", message, fields);
    return true;
  };
  return {
    pausedUntil: () => pausedUntil,
    worked() {
      if (isFailing) log("info", "CloudEvents are delivered again");
      isFailing = false;
      inARow = pauses = pausedUntil = 0;
    },
    failed(error: string, afterMs: number, waiting: number) {
      const now = clock.now();
      isFailing = complain("failing", "Cannot deliver CloudEvents", { error, waiting }) || isFailing;
      if (++inARow >= FAILURES_OF_RECEIVER && now >= pausedUntil) pausedUntil = now + backoffMs(pauses++);
      if (afterMs > 0) pausedUntil = Math.max(pausedUntil, now + afterMs);
    },
    full: (namespace: string) => void complain("full", "CloudEvents dropped: too many are waiting", { namespace }),
  };
}

/** Creates the handler of a watch of Sandboxes. When `signal` fires, events that wait are dropped. */
export function sendCloudEvents(
  options: CloudEventsOptions,
  reporting: Pick<DeliveryOptions, "log" | "onResult">,
  signal: AbortSignal,
): EventHandler<Sandbox> {
  const deliver = createDelivery({ receiver: createReceiver(options), ...reporting }, signal);
  return createLifecycle((event) => deliver(cloudEventOf(event, options.source)));
}
