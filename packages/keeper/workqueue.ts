/** When reconcilers run: one timer for each object, a few at once, never one object twice at once. Decides nothing. @module */
import { backoffMs } from "../kube/backoff.ts";
import type { EventHandler } from "../kube/watch.ts";
import { type Clock, systemClock } from "../process/clock.ts";
import { errorFields, type Log } from "../process/log.ts";
import type { ObjectMeta } from "../api/objects/objects.ts";
import type { Reconciler } from "./reconciler.ts";

interface QueueOptions {
  log: Log;
  /** Acts at once. @default {4} */
  concurrency?: number;
  /** @default {systemClock} */
  clock?: Clock;
}

type Kept = { metadata: ObjectMeta };

interface Entry<T> {
  object: T;
  /** Ends the wait that is planned. */
  cancel?: () => void;
  state: "waiting" | "ready" | "acting" | "gone";
  failures: number;
  /** After a failure: not before. */
  notBefore: number;
}

interface Queue<T> extends Required<QueueOptions> {
  reconciler: Reconciler<T>;
  signal: AbortSignal;
  /** By UID: what is due at some time. */
  entries: Map<string, Entry<T>>;
  /** What is due now, in order. */
  ready: Entry<T>[];
  acting: number;
}

/** Makes the queue of one reconciler. `signal` ends it: no further act begins. */
export function createQueue<T extends Kept>(
  reconciler: Reconciler<T>,
  options: QueueOptions,
  signal: AbortSignal,
): EventHandler<T> {
  const queue: Queue<T> = {
    concurrency: 4,
    clock: systemClock,
    ...options,
    reconciler,
    signal,
    entries: new Map(),
    ready: [],
    acting: 0,
  };
  signal.addEventListener("abort", () => {
    for (const entry of queue.entries.values()) entry.cancel?.();
  });
  return {
    observe: (object) => observe(queue, object),
    gone: (uid) => forget(queue, uid),
    listed(uids) {
      for (const uid of [...queue.entries.keys(), ...reconciler.memory.keys()]) if (!uids.has(uid)) forget(queue, uid);
    },
  };
}

function observe<T extends Kept>(queue: Queue<T>, object: T): void {
  const uid = uidOf(object);
  const entry = queue.entries.get(uid) ?? { object, state: "waiting", failures: 0, notBefore: 0 };
  entry.object = object;
  queue.entries.set(uid, entry);
  plan(queue, entry);
}

function forget<T extends Kept>({ entries, reconciler }: Queue<T>, uid: string): void {
  const entry = entries.get(uid);
  entry?.cancel?.();
  if (entry) entry.state = "gone";
  entries.delete(uid);
  reconciler.memory.delete(uid);
}

function plan<T extends Kept>(queue: Queue<T>, entry: Entry<T>): void {
  entry.cancel?.();
  if (queue.signal.aborted || entry.state !== "waiting") return;
  const now = queue.clock.now();
  const due = queue.reconciler.dueAt(entry.object, now);
  if (due === undefined) {
    queue.entries.delete(uidOf(entry.object));
    return;
  }
  const wait = Math.max(due, entry.notBefore) - now;
  if (wait > 0) {
    entry.cancel = queue.clock.setTimeout(() => plan(queue, entry), wait);
    return;
  }
  entry.state = "ready";
  queue.ready.push(entry);
  pump(queue);
}

function pump<T extends Kept>(queue: Queue<T>): void {
  while (queue.acting < queue.concurrency && !queue.signal.aborted) {
    const entry = queue.ready.shift();
    if (!entry) return;
    if (entry.state === "ready" && isStillDue(queue, entry)) void act(queue, entry);
  }
}

/** The object may have changed while it stood in line. */
function isStillDue<T extends Kept>(queue: Queue<T>, entry: Entry<T>): boolean {
  const now = queue.clock.now();
  if ((queue.reconciler.dueAt(entry.object, now) ?? Infinity) <= now) return true;
  entry.state = "waiting";
  plan(queue, entry);
  return false;
}

async function act<T extends Kept>(queue: Queue<T>, entry: Entry<T>): Promise<void> {
  const { reconciler, log, signal, clock } = queue;
  entry.state = "acting";
  queue.acting++;
  try {
    await reconciler.reconcile(entry.object, clock.now());
    entry.failures = 0;
    entry.notBefore = 0;
  } catch (error) {
    entry.notBefore = clock.now() + backoffMs(entry.failures++);
    const { namespace, name } = entry.object.metadata;
    if (!signal.aborted) {
      log("error", `Cannot reconcile: ${reconciler.name}`, { namespace, name, ...errorFields(error) });
    }
  }
  queue.acting--;
  settle(queue, entry);
  pump(queue);
}

/** `forget` may have come while it was acted upon, and the act has remembered something since. */
function settle<T extends Kept>(queue: Queue<T>, entry: Entry<T>): void {
  if (entry.state === "gone") queue.reconciler.memory.delete(uidOf(entry.object));
  else entry.state = "waiting";
  plan(queue, entry);
}

function uidOf({ metadata }: Kept): string {
  return metadata.uid ?? "";
}
