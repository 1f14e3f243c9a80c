/** An end that many may wait for and then give up; nothing stays of those who have. @module */

/** It comes once. */
export interface Ending<T> {
  promise: Promise<T>;
  resolve(end: T): void;
  /**
   * Resolves with the end, or with undefined when `signal` aborts. Promise.race() would leave something on the promise,
   * for as long as that lasts.
   */
  until(signal: AbortSignal): Promise<T | undefined>;
}

/** Makes one. */
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
