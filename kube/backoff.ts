/** How long to wait after failures in a row. @module */

const FIRST_MS = 1000;
const LONGEST_MS = 30_000;

/** Returns the wait before the next try, in milliseconds: 1 s after the first failure, doubled each time up to 30 s. */
export function backoffMs(failuresBefore: number): number {
  return Math.min(FIRST_MS * 2 ** failuresBefore, LONGEST_MS);
}
