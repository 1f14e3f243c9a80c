/** When output has to wait for its readers; it must not keep any. @module */

/** What writes, and how it is stopped and started again. */
export interface Flow {
  pause(): void;
  resume(): void;
}

/** Told of what is written and what has been read, both counted from the beginning, in bytes. */
export interface Backpressure {
  written(all: number): void;
  /** So much has arrived at a reader. */
  taken(all: number): void;
  /** Somebody begins to read; the answer says that they have left. */
  entered(): () => void;
}

/** How long a writer waits for a reader who has left, in milliseconds. */
const PATIENCE_MS = 60_000;

/**
 * Stops the writer while it is `ahead` bytes or more before the reader that is furthest; not while nobody has read for
 * long.
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
