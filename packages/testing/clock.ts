/** A clock that moves only when a test moves it, so that hours of a scenario pass in milliseconds. @module */
import { setImmediate } from "node:timers/promises";
import type { Clock } from "./store/store.ts";

/** A clock for tests. Its timers fire only when the clock is moved. */
export interface FakeClock extends Clock {
  /** Moves forward by milliseconds. Timers fire in order, and each finishes all work that needs no time. */
  advance(milliseconds: number): Promise<void>;
  /** Moves to the next timer if it is due within `limit` milliseconds; returns false if none is. */
  step(limit?: number): Promise<boolean>;
}

/** Makes a clock that starts at `start`, in milliseconds since 1970. */
export function createFakeClock(start: number = Date.parse("2026-01-01T00:00:00Z")): FakeClock {
  const timers: { due: number; run: () => void }[] = [];
  let now = start;

  function add(run: () => void, milliseconds: number): () => void {
    const timer = { due: now + Math.max(milliseconds, 0), run };
    const after = timers.findLastIndex(({ due }) => due <= timer.due);
    timers.splice(after + 1, 0, timer);
    return () => {
      const index = timers.indexOf(timer);
      if (index >= 0) timers.splice(index, 1);
    };
  }

  async function step(limit = Infinity): Promise<boolean> {
    await setImmediate();
    const [next] = timers;
    if (!next || next.due > now + limit) return false;
    timers.shift();
    now = next.due;
    next.run();
    await setImmediate();
    return true;
  }

  return {
    now: () => now,
    setTimeout: add,
    step,
    async advance(milliseconds) {
      const end = now + milliseconds;
      while (await step(end - now));
      now = end;
      await setImmediate();
    },
  };
}
