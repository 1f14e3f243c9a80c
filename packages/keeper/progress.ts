/**
 * Distinguishes an object that waits in Metacontroller's queue from one that was lost. Metacontroller handles objects
 * in the order in which they were queued. So an object was lost if younger ones have been handled, and all objects were
 * lost if none are handled at all. Age alone proves nothing: under load, every object is old when its turn comes.
 * @module
 */

/** A smaller difference in age proves nothing: creation times are whole seconds, and several objects are handled at once. */
const OVERTAKEN_MS = 2000;
/** If no object was handled for this long, the queue is empty, or no hook answers. */
const STALLED_MS = 6000;
/** Number of objects to requeue in each such period. A few suffice to show whether a hook answers. */
const MOST_PROBES = 20;
const NOT_PROBING = { since: -Infinity, count: 0 };

/** What an object waits for, and since when, in milliseconds since the epoch. */
export interface Waited {
  /** Only objects that wait for the same thing are compared: a Pod takes longer to start than a status to be written. */
  for: "first status" | "status of the generation" | "Ready" | "state of the Sandbox" | "expiry";
  began: number;
}

/** Records which objects of one kind were handled. Times are in milliseconds since the epoch. */
export interface Progress {
  /** Records that an object was handled. */
  answered(waited: Waited, now: number): void;
  /** Records that an object was requeued. */
  woken(waited: Waited, now: number): void;
  /** Returns the earliest time to requeue an object. A time in the past means now. */
  wakeableFrom(waited: Waited): number;
  /** Returns when an object was last handled after others had been requeued in vain. Before the first time: -Infinity. */
  recoveredAt(): number;
}

/** What was handled of the objects that wait for one thing. */
interface Handled {
  /** When the youngest of the handled objects began to wait. */
  latestAnswered: number;
  answeredAt: number;
  /** When the latest period began in which objects were requeued though no younger object was handled, and how many. */
  probing: { since: number; count: number };
}

/** Creates an empty record. @param start when this process began to watch */
export function createProgress(start: number): Progress {
  const nothing = (): Handled => ({ latestAnswered: -Infinity, answeredAt: start, probing: NOT_PROBING });
  const handled: Record<Waited["for"], Handled> = {
    "first status": nothing(),
    "status of the generation": nothing(),
    "Ready": nothing(),
    "state of the Sandbox": nothing(),
    "expiry": nothing(),
  };
  let recoveredAt = -Infinity;
  const isOvertaken = (waited: Waited) => handled[waited.for].latestAnswered > waited.began + OVERTAKEN_MS;
  return {
    answered({ for: thing, began }, now) {
      if (handled[thing].probing.count > 0) recoveredAt = now;
      // If the clock of the writer is ahead, other objects must not look overtaken.
      const latestAnswered = Math.max(handled[thing].latestAnswered, Math.min(began, now));
      handled[thing] = { latestAnswered, answeredAt: now, probing: NOT_PROBING };
    },
    woken(waited, now) {
      if (isOvertaken(waited)) return;
      const record = handled[waited.for];
      const { since, count } = record.probing;
      record.probing = now < since + STALLED_MS ? { since, count: count + 1 } : { since: now, count: 1 };
    },
    wakeableFrom(waited) {
      if (isOvertaken(waited)) return -Infinity;
      const { answeredAt, probing: { since, count } } = handled[waited.for];
      return (count < MOST_PROBES ? answeredAt : since) + STALLED_MS;
    },
    recoveredAt: () => recoveredAt,
  };
}
