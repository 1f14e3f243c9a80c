/** Timers that run fast, or when told: for what waits a fixed time between real requests and processes. @module */
import { onTestFinished, vi } from "vitest";

type Faked = "setTimeout" | "clearTimeout" | "Date" | "performance";

/**
 * Runs the timers of this thread, and what else is named, at least `factor` times as fast until the test ends. What real
 * sockets and processes take stays as it is: nothing that waits for those may have a limit that is now too short.
 */
export function hurry(factor: number, more: Faked[] = []): void {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", ...more] });
  const ticker = setInterval(() => vi.advanceTimersByTime(5 * factor), 5);
  onTestFinished(() => {
    clearInterval(ticker);
    vi.useRealTimers();
  });
}

let goingOn: NodeJS.Timeout | undefined;

/** Stops the timers of this thread. Returns a function: it lets time pass for timers set since then, then all go on. */
export function holdTimers(): (ms: number) => void {
  clearInterval(goingOn);
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => {
    clearInterval(goingOn);
    vi.useRealTimers();
  });
  return (ms) => {
    vi.advanceTimersByTime(ms);
    // Not useRealTimers(): it would forget what was set in the meantime.
    goingOn = setInterval(() => vi.advanceTimersByTime(5), 5);
  };
}
