/** Pauses a process whose output has not been read yet. @module */

/** The writer of output: pauses and resumes it. */
export interface Flow {
  pause(): void;
  resume(): void;
}

/** Records how many bytes were written and read, each counted from the beginning. */
export interface Backpressure {
  written(all: number): void;
  /** A reader has received this many bytes. */
  taken(all: number): void;
  /** A reader has started. Call the returned function when it leaves. */
  entered(): () => void;
}

/** How long a writer waits after the last reader has left, in milliseconds. */
const PATIENCE_MS = 60_000;

/**
 * Pauses the writer while it is `ahead` bytes or more ahead of the furthest reader. If there is no reader for
 * `patienceMs` milliseconds, the writer continues.
 */
export function createBackpressure({ pause, resume }: Flow, ahead: number, patienceMs = PATIENCE_MS): Backpressure {
  let written = 0;
  let furthest = 0;
  let readers = 0;
  let paused = false;
  let abandoned = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const decide = () => {
    const should = !abandoned && written - furthest >= ahead;
    if (should === paused) return;
    paused = should;
    if (paused) pause();
    else resume();
  };
  const wait = () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      abandoned = true;
      decide();
    }, patienceMs);
    timer.unref?.();
  };
  wait();
  return {
    written: (all) => {
      written = all;
      decide();
    },
    taken: (all) => {
      furthest = Math.max(furthest, all);
      decide();
    },
    entered: () => {
      readers++;
      clearTimeout(timer);
      abandoned = false;
      decide();
      return () => {
        readers--;
        if (readers === 0) wait();
      };
    },
  };
}
