/** Lets a clock run by itself, for as long as somebody outside waits for what a watch shows. @module */
import type { FakeClock } from "./engine/fake-clock.ts";

export interface AutoTime {
  /** Somebody has sent a request: time may go on from here as far as the limit. */
  touched(): void;
  /** Somebody waits: time goes on, unless it does already. */
  awaited(): void;
  stop(): void;
}

export interface AutoTimeOptions {
  clock: FakeClock;
  /** Resolves when nothing is left to do without time passing. */
  idle(): Promise<void>;
  isAwaited(): boolean;
  /** How far time goes by itself after a request, in milliseconds. */
  limitMs: number;
}

/** Makes it; time stands still at first. */
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
