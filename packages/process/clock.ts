/** Time as a process sees it, so that a test can stand in for it. Holds no state. @module */
import { LONGEST_TIMER_MS } from "./durations.ts";

/** What tells the time and waits. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Calls `run` once after `milliseconds`; the returned function cancels it. */
  setTimeout(run: () => void, milliseconds: number): () => void;
}

/** The machine's own time. A delay over 24 days comes too early: who waits that long looks again then. */
export const systemClock: Clock = {
  now: () => Date.now(),
  setTimeout(run, milliseconds) {
    const timer = setTimeout(run, Math.min(milliseconds, LONGEST_TIMER_MS));
    return () => clearTimeout(timer);
  },
};
