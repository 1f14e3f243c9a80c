/** The end of a process, for which any number of callers can wait. @module */

/** An event that happens once. */
export interface Ending<T> {
  promise: Promise<T>;
  resolve(end: T): void;
  /**
   * Resolves with the end, or with undefined if `signal` aborts first. Does not use Promise.race(), which would leave a
   * reaction on the promise until it resolves.
   */
  until(signal: AbortSignal): Promise<T | undefined>;
}

/** Creates an ending. */
export function createEnding<T>(): Ending<T> {
  const { promise, resolve } = Promise.withResolvers<T>();
  const waiting = new Set<() => void>();
  let hasEnded = false;
  return {
    promise,
    resolve: (end) => {
      hasEnded = true;
      resolve(end);
      waiting.forEach((wake) => wake());
    },
    until: async (signal) => {
      if (!hasEnded && !signal.aborted) {
        await new Promise<void>((resolve) => {
          const wake = () => {
            waiting.delete(wake);
            signal.removeEventListener("abort", wake);
            resolve();
          };
          waiting.add(wake);
          signal.addEventListener("abort", wake);
        });
      }
      return hasEnded ? await promise : undefined;
    },
  };
}
