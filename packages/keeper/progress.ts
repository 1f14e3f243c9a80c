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

/** What an object waits for, and since when, in milliseconds since the epoch. */
export interface Waited {
  /** Only objects that wait for the same thing are compared: a Pod takes longer to start than a status to be written. */
  for: "first status" | "status of the generation" | "Ready";
  began: number;
}

/** Records which objects of one kind were handled. Times are in milliseconds since the epoch. */
export interface Progress {
  /** Records that an object was handled. */
  answered(waited: Waited, now: number): void;
  /** Records that an object was requeued. */
  woken(waited: Waited): void;
  /** Returns the earliest time to requeue an object. A time in the past means now. */
  wakeableFrom(waited: Waited): number;
}

/** What was handled of the objects that wait for one thing. */
interface Handled {
  /** When the youngest of the handled objects began to wait. */
  latestAnswered: number;
  answeredAt: number;
  /** Objects that were requeued since then, though no younger object was handled. */
  probes: number;
}

/** Creates an empty record. @param start when this process began to watch */
export function createProgress(start: number): Progress {
  const nothing = (): Handled => ({ latestAnswered: -Infinity, answeredAt: start, probes: 0 });
  const handled: Record<Waited["for"], Handled> = {
    "first status": nothing(),
    "status of the generation": nothing(),
    "Ready": nothing(),
  };
  const isOvertaken = (waited: Waited) => handled[waited.for].latestAnswered > waited.began + OVERTAKEN_MS;
  return {
    answered({ for: thing, began }, now) {
      // If the clock of the writer is ahead, other objects must not look overtaken.
      const latestAnswered = Math.max(handled[thing].latestAnswered, Math.min(began, now));
      handled[thing] = { latestAnswered, answeredAt: now, probes: 0 };
    },
    woken(waited) {
      if (!isOvertaken(waited)) handled[waited.for].probes++;
    },
    wakeableFrom(waited) {
      if (isOvertaken(waited)) return -Infinity;
      const { answeredAt, probes } = handled[waited.for];
      return answeredAt + STALLED_MS * (1 + Math.floor(probes / MOST_PROBES));
    },
  };
}
