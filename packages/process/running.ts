/** Counts running operations, so that a stop can wait for them. @module */

/** A count of running operations. */
export interface Running {
  begin(): void;
  end(): void;
  /** Resolves when no operation is running. */
  idle(): Promise<void>;
}

/** Creates a count of 0. */
export function countRunning(): Running {
  let running = 0;
  let waiting: (() => void)[] = [];
  return {
    begin: () => {
      running++;
    },
    end: () => {
      if (--running > 0) return;
      for (const tell of waiting) tell();
      waiting = [];
    },
    idle: () => new Promise<void>((resolve) => running === 0 ? resolve() : waiting.push(resolve)),
  };
}
