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

/** Records which objects of one kind were handled. Times are in milliseconds since the epoch. */
export interface Progress {
  /** Records that an object which had waited since `began` was handled. */
  answered(began: number, now: number): void;
  /** Records that an object which has waited since `began` was requeued. */
  woken(began: number): void;
  /** Returns the earliest time to requeue an object that has waited since `began`. A time in the past means now. */
  wakeableFrom(began: number): number;
}

/** Creates an empty record. @param start when this process began to watch */
export function createProgress(start: number): Progress {
  let latestAnswered = -Infinity;
  let answeredAt = start;
  let probes = 0;
  const isOvertaken = (began: number) => latestAnswered > began + OVERTAKEN_MS;
  return {
    answered(began, now) {
      // If the clock of the writer is ahead, other objects must not look overtaken.
      latestAnswered = Math.max(latestAnswered, Math.min(began, now));
      answeredAt = now;
      probes = 0;
    },
    woken(began) {
      if (!isOvertaken(began)) probes++;
    },
    wakeableFrom: (began) =>
      isOvertaken(began) ? -Infinity : answeredAt + STALLED_MS * (1 + Math.floor(probes / MOST_PROBES)),
  };
}
