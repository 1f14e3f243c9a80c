/** Moves a fake clock forward automatically while a watch of the API waits for events. @module */
import type { FakeClock } from "./clock.ts";

export interface AutoTime {
  /** Call this after each request: time may pass from now up to the limit. */
  touched(): void;
  /** Call this when a watch begins to wait: time passes, unless it passes already. */
  awaited(): void;
  stop(): void;
}

export interface AutoTimeOptions {
  clock: FakeClock;
  /** Resolves when nothing can happen until time passes. */
  idle(): Promise<void>;
  isAwaited(): boolean;
  /** How far time passes automatically after a request, in milliseconds. */
  limitMs: number;
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
