/** Many deadlines by one timer: to set and clear one for each request is a fifth of what a small request costs on Deno. @module */
import { LONGEST_TIMER_MS } from "./clock.ts";

/** Deadlines of one length. */
export interface Deadlines {
  /**
   * Begins a deadline.
   *
   * @param late called once when its time is over
   * @returns ends it before that; may be called again
   */
  begin(late: () => void): () => void;
}

/** Makes deadlines; the timer that they share keeps no process alive. @param ms how long each is, in milliseconds */
export function createDeadlines(ms: number): Deadlines {
  /** When each is over, the first first. */
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

/** The part of Deno that is used here. */
declare const Deno: { unrefTimer(id: number): void } | undefined;
