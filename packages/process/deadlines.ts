/**
 * Runs many deadlines with one timer: a timer for each request would be a fifth of the cost of a small request on Deno.
 * @module
 */
import { LONGEST_TIMER_MS } from "./clock.ts";

/** Deadlines of the same length. */
export interface Deadlines {
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
