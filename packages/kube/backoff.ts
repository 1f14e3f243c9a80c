/** Computes the delay after repeated failures, and sleeps until a signal fires. @module */

const FIRST_MS = 1000;
const LONGEST_MS = 30_000;

/** Returns the delay before the next try, in milliseconds: 1 s after the first failure, doubled each time up to 30 s. */
export function backoffMs(failuresBefore: number): number {
  return Math.min(FIRST_MS * 2 ** failuresBefore, LONGEST_MS);
}

/** Waits for `ms` milliseconds, or until `signal` fires if that comes first. Never throws. */
export function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener("abort", end);
  });
}
