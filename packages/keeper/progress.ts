/**
 * Tells an object that waits in a queue from one that was forgotten. Metacontroller answers in the order in which it was
 * asked: an object that waits while younger ones are answered was forgotten, and so were all if nobody is answered at
 * all. Age alone says nothing: under load each object is old when its turn comes. @module
 */

/** Younger by less than this proves nothing: creation times are whole seconds, and several are answered at once. */
const OVERTAKEN_MS = 2000;
/** Nobody was answered for this long: the queue is empty, or nobody serves it. */
const STALLED_MS = 6000;
/** Objects that may be woken in each such time: a few show whether anybody answers. */
const MOST_PROBES = 20;

/** What was answered of the objects of one kind. Times are in milliseconds since the epoch. */
export interface Progress {
  /** Takes note that an object was answered that had waited since `began`. */
  answered(began: number, now: number): void;
  /** Takes note that an object was woken that waits since `began`. */
  woken(began: number): void;
  /** Returns from when on an object may be woken that waits since `began`, by what is known now; in the past: it may be now. */
  wakeableFrom(began: number): number;
}

/** Makes it; nothing is known. @param start when this process begins to look */
export function createProgress(start: number): Progress {
  let latestAnswered = -Infinity;
  let answeredAt = start;
  let probes = 0;
  const isOvertaken = (began: number) => latestAnswered > began + OVERTAKEN_MS;
  return {
    answered(began, now) {
      // A clock that is ahead must not make all others late.
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
