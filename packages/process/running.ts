/** Counts what runs, so that a stop can wait for it. @module */

/** A count of what runs. */
export interface Running {
  begin(): void;
  end(): void;
  /** Resolves when nothing runs. */
  idle(): Promise<void>;
}

/** Starts at nothing. */
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
