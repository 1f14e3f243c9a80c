/** A clock that moves only when a test moves it, or automatically while a watch waits for events. @module */
import { setImmediate } from "node:timers/promises";
import type { Clock } from "../process/clock.ts";

/** A clock for tests. Its timers fire only when the clock is moved. */
export interface FakeClock extends Clock {
  /** Moves forward by milliseconds. Timers fire in order, and each finishes all work that needs no time. */
  advance(milliseconds: number): Promise<void>;
  /** Moves to the next timer if it is due within `limit` milliseconds; returns false if none is. */
  step(limit?: number): Promise<boolean>;
}

interface AutoTimeOptions {
  clock: FakeClock;
  /** Resolves when nothing can happen until time passes. */
  idle(): Promise<void>;
  isAwaited(): boolean;
  /** How far time passes automatically after a request, in milliseconds. */
  limitMs: number;
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

/** Makes the automatic time. Time stands still at first. */
export function createAutoTime({ clock, idle, isAwaited, limitMs }: AutoTimeOptions): AutoTime {
  let until = clock.now() + limitMs;
  let isRunning = false;
  let isStopped = false;

  async function run(): Promise<void> {
    isRunning = true;
    while (!isStopped) {
      await idle();
      if (isStopped || !isAwaited() || !await clock.step(until - clock.now())) break;
    }
    isRunning = false;
  }

  return {
    touched: () => void (until = clock.now() + limitMs),
    awaited() {
      if (!isRunning && !isStopped) void run();
    },
    stop: () => void (isStopped = true),
  };
}

interface AutoTime {
  /** Call this after each request: time may pass from now up to the limit. */
  touched(): void;
  /** Call this when a watch begins to wait: time passes, unless it passes already. */
  awaited(): void;
  stop(): void;
}
