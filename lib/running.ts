/** Counts what runs, so that a stop can wait for it. @module */

/** A count of what runs. */
export interface Running {
  begin(): void;
  end(): void;
  /** Resolves when nothing runs; the last one who asked is told. */
  idle(): Promise<void>;
}

/** Starts at nothing. */
export function countRunning(): Running {
  let running = 0;
  let onIdle = () => {};
  return {
    begin: () => {
      running++;
    },
    end: () => {
      if (--running === 0) onIdle();
    },
    idle: () => new Promise<void>((resolve) => running === 0 ? resolve() : onIdle = resolve),
  };
}
