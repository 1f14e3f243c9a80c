/** An interface to time and timers, which tests can replace. @module */

/** Returns the time and runs timers. */
export interface Clock {
  /** Returns milliseconds since 1970. */
  now(): number;
  /** Calls `run` once after `milliseconds`; the returned function cancels it. */
  setTimeout(run: () => void, milliseconds: number): () => void;
}

/** Longest delay that a timer supports, in milliseconds: 24 days. A timer with a longer delay fires at once. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** The machine's clock. A delay of more than 24 days ends too early, so the caller must check the time again. */
export const systemClock: Clock = {
  now: () => Date.now(),
  setTimeout(run, milliseconds) {
    const timer = setTimeout(run, Math.min(milliseconds, LONGEST_TIMER_MS));
    return () => clearTimeout(timer);
  },
};
