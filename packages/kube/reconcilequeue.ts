/**
 * Schedules a reconciler: one timer per object, a few calls at the same time with turns by namespace, and never two
 * calls for one object.
 * @module
 */
import { createWorkQueue, type WorkQueue } from "./workqueue.ts";
import { backoffMs } from "./backoff.ts";
import type { EventHandler } from "./watch.ts";
import { type Clock, systemClock } from "../process/clock.ts";
import { errorFields, type Log } from "../process/log.ts";
import { type Getter, type Kept, type Named, toKeep } from "./kept.ts";

/**
 * One task for the objects of a kind.
 *
 * `memory` holds what the reconciler remembers of each object, by UID. The queue removes the entries of objects that
 * are gone. A reconciler must work without its memory: a new process begins with an empty one.
 */
export interface Reconciler<T> {
  name: string;
  memory: Map<string, unknown>;
  /**
   * Called when a list begins: forgets which versions were handled. After a restore of etcd, earlier writes may be
   * undone and a version may occur twice, so every listed object is examined again. Absent: no version is remembered.
   */
  listing?(): void;
  /**
   * Returns when to reconcile the object as it is now, in milliseconds since the epoch; undefined: not at all. Called
   * at every event, so it must be cheap and send no request.
   */
  dueAt(object: T, now: number): number | undefined;
  /** Reconciles the object, and remembers that, so that {@link dueAt} changes. @throws to be tried again, with back-off */
  reconcile(object: T, now: number): Promise<void>;
}

interface QueueOptions<T> {
  log: Log;
  /** Calls at the same time. Large objects have a queue of their own. @default {4} */
  concurrency?: number;
  /** @default {systemClock} */
  clock?: Clock;
  /** Fetches large objects; undefined: all objects are kept in full. */
  getter?: Getter<T> | undefined;
}

export interface ReconcileQueue<T> extends EventHandler<T> {
  /** Requeues an object that has not changed itself. It is examined again when its turn comes. */
  requeue(kept: Kept<T>): void;
}

interface Entry<T> {
  /** The object as last observed. */
  kept: Kept<T>;
  /** Cancels the planned wait. */
  cancel?: () => void;
  state: "waiting" | "ready" | "acting" | "gone";
  failures: number;
  /** The earliest time of the next call after a failure, in milliseconds since the epoch. */
  notBefore: number;
}

interface Queue<T> {
  reconciler: Reconciler<T>;
  log: Log;
  clock: Clock;
  getter: Getter<T> | undefined;
  signal: AbortSignal;
  /** By UID: the objects that are due, now or later. */
  entries: Map<string, Entry<T>>;
  /** The objects that are due now or were requeued, except large ones. */
  turns: WorkQueue;
  /** Turns since other events were last handled. */
  inARow: number;
  pause: Promise<void> | undefined;
}

/** After this many turns in a row, other events are handled, for example requests for the Lease. */
const MOST_IN_A_ROW = 20;

/** Creates the queue of one reconciler. When `signal` fires, no further call begins. */
export function createReconcileQueue<T extends Named>(
  reconciler: Reconciler<T>,
  { log, concurrency = 4, clock = systemClock, getter }: QueueOptions<T>,
  signal: AbortSignal,
): ReconcileQueue<T> {
  const turns = createWorkQueue(concurrency);
  const entries = new Map<string, Entry<T>>();
  const queue: Queue<T> = { reconciler, log, clock, getter, signal, entries, turns, inARow: 0, pause: undefined };
  signal.addEventListener("abort", () => {
    turns.clear();
    for (const entry of entries.values()) entry.cancel?.();
  });
  return {
    listing: () => reconciler.listing?.(),
    observe(object) {
      const entry = entries.get(uidOf(object));
      if (!entry || entry.state === "waiting") plan(queue, entry, object);
      // Examined when its turn comes, or when the current call has ended.
      else entry.kept = keep(queue, object);
    },
    requeue(kept) {
      const entry = entries.get(uidOf(kept)) ?? newEntry(kept);
      entry.kept = kept;
      entries.set(uidOf(kept), entry);
      if (entry.state === "waiting") enter(queue, entry);
    },
    gone: (uid) => forget(queue, uid),
  };
}

function forget<T extends Named>({ entries, reconciler }: Queue<T>, uid: string): void {
  const entry = entries.get(uid);
  entry?.cancel?.();
  if (entry) entry.state = "gone";
  entries.delete(uid);
  reconciler.memory.delete(uid);
}

/** Examines an object that is not being reconciled: it is dropped, waits, or is queued. */
function plan<T extends Named>(queue: Queue<T>, known: Entry<T> | undefined, object: T): void {
  known?.cancel?.();
  if (queue.signal.aborted) return;
  const due = queue.reconciler.dueAt(object, queue.clock.now());
  if (due === undefined) {
    queue.entries.delete(uidOf(object));
    return;
  }
  const entry = known ?? newEntry(keep(queue, object));
  if (entry.kept.whole !== object) entry.kept = keep(queue, object);
  queue.entries.set(uidOf(object), entry);
  enterAt(queue, entry, due);
}

function enterAt<T extends Named>(queue: Queue<T>, entry: Entry<T>, due: number): void {
  const wait = Math.max(due, entry.notBefore) - queue.clock.now();
  if (wait > 0) entry.cancel = queue.clock.setTimeout(() => enter(queue, entry), wait);
  else enter(queue, entry);
}

function enter<T extends Named>(queue: Queue<T>, entry: Entry<T>): void {
  const { reconciler, getter, turns } = queue;
  entry.cancel?.();
  if (queue.signal.aborted) return;
  entry.state = "ready";
  const { metadata: { namespace = "", uid = "" }, whole } = entry.kept;
  if (whole || !getter) turns.add(namespace, uid, () => turn(queue, entry));
  else getter.turns.add(namespace, `${reconciler.name} ${uid}`, () => turn(queue, entry, getter));
}

/** @param getter set if this turn may fetch the object */
async function turn<T extends Named>(queue: Queue<T>, entry: Entry<T>, getter?: Getter<T>): Promise<void> {
  const pause = pauseOf(queue);
  if (pause) await pause;
  if (entry.state !== "ready" || queue.signal.aborted) return;
  const { kept } = entry;
  // The object has become large while it waited.
  if (!kept.whole && queue.getter && !getter) return enter(queue, entry);
  entry.state = "acting";
  let object = kept.whole;
  try {
    object ??= await getter?.get(kept.metadata);
    if (object) await act(queue, entry, object);
    else if (entry.kept === kept) return forget(queue, uidOf(kept));
  } catch (error) {
    failed(queue, entry, error);
  }
  if (isGone(entry)) {
    // `forget` may have been called during the call, and the reconciler may have stored something since.
    queue.reconciler.memory.delete(uidOf(kept));
    return;
  }
  entry.state = "waiting";
  const latest = entry.kept === kept ? object : entry.kept.whole;
  if (latest) plan(queue, entry, latest);
  else enterAt(queue, entry, 0);
}

/** Reconciles the object if it is still due: it may have changed since it was queued. */
async function act<T extends Named>({ reconciler, clock }: Queue<T>, entry: Entry<T>, object: T): Promise<void> {
  const now = clock.now();
  const due = Math.max(reconciler.dueAt(object, now) ?? Infinity, entry.notBefore);
  if (isGone(entry) || due > now) return;
  await reconciler.reconcile(object, now);
  entry.failures = 0;
  entry.notBefore = 0;
}

function failed<T>({ reconciler, clock, signal, log }: Queue<T>, entry: Entry<T>, error: unknown): void {
  entry.notBefore = clock.now() + backoffMs(entry.failures++);
  const { namespace, name } = entry.kept.metadata;
  if (signal.aborted) return;
  log("error", `Cannot reconcile: ${reconciler.name}`, { namespace, name, ...errorFields(error) });
}

/** Returns a pause that a turn must wait for; undefined: none. */
function pauseOf<T>(queue: Queue<T>): Promise<void> | undefined {
  if (queue.inARow++ < MOST_IN_A_ROW) return undefined;
  queue.pause ??= new Promise((resolve) => {
    queue.clock.setTimeout(() => {
      queue.inARow = 0;
      queue.pause = undefined;
      resolve();
    }, 0);
  });
  return queue.pause;
}

function keep<T extends Named>({ getter }: Queue<T>, object: T): Kept<T> {
  return getter ? toKeep(object) : { metadata: object.metadata, whole: object };
}

function newEntry<T>(kept: Kept<T>): Entry<T> {
  return { kept, state: "waiting", failures: 0, notBefore: 0 };
}

/** A function, because the compiler assumes that the state does not change during an await. */
function isGone<T>({ state }: Entry<T>): boolean {
  return state === "gone";
}

function uidOf<T>({ metadata }: Pick<Kept<T>, "metadata">): string {
  return metadata.uid ?? "";
}
