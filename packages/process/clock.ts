/** Time, timers and deadlines, which tests can replace. @module */

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

/** Deadlines of the same length. */
interface Deadlines {
  /**
   * Starts a deadline.
   *
   * @param late called once when the time is over
   * @returns a function that cancels the deadline; it may be called again
   */
  begin(late: () => void): () => void;
}

/** Creates deadlines. Their common timer does not keep a process alive. @param ms length of each deadline, in milliseconds */
export function createDeadlines(ms: number): Deadlines {
  /** Ordered by the end of the deadline. */
  const running = new Map<symbol, { at: number; late: () => void }>();
  let isSet = false;

  function set(at: number): void {
    if (isSet) return;
    isSet = true;
    unref(setTimeout(look, Math.min(Math.max(0, at - performance.now()), LONGEST_TIMER_MS)));
  }

  function look(): void {
    isSet = false;
    const now = performance.now();
    for (const [key, { at, late }] of running) {
      // A timer may fire a moment too early.
      if (at > now) return set(at);
      running.delete(key);
      late();
    }
  }

  return {
    begin(late) {
      const key = Symbol();
      const at = performance.now() + ms;
      running.set(key, { at, late });
      set(at);
      return () => void running.delete(key);
    },
  };
}

/** Node's timers are objects, Deno's are numbers. */
function unref(timer: unknown): void {
  if (typeof timer === "object") (timer as { unref(): void }).unref();
  else if (typeof Deno !== "undefined") Deno.unrefTimer(timer as number);
}

/** The part of Deno that this file uses. */
declare const Deno: { unrefTimer(id: number): void } | undefined;
