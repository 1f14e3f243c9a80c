/** Time as a process sees it, so that a test can stand in for it. Holds no state. @module */

/** What tells the time and waits. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Calls `run` once after `milliseconds`; the returned function cancels it. */
  setTimeout(run: () => void, milliseconds: number): () => void;
}

/** Longest delay that a timer counts, in milliseconds: 24 days. A timer with a longer delay fires at once. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** The machine's own time. A delay over 24 days comes too early: who waits that long looks again then. */
export const systemClock: Clock = {
  now: () => Date.now(),
  setTimeout(run, milliseconds) {
    const timer = setTimeout(run, Math.min(milliseconds, LONGEST_TIMER_MS));
    return () => clearTimeout(timer);
  },
};
