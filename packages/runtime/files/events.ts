/** A bounded queue between a source of events and a slow reader; knows nothing of files. @module */

/** Events on their way to a reader. */
export interface EventQueue<T> {
  /** Adds an event; beyond the limit all that wait are replaced by `overflow`. */
  push(event: T): void;
  /** No more events come, nor are they taken: the reader ends after those that wait. */
  end(): void;
  /** Yields events as they come; `idle` each time none came for `idleMs` milliseconds. */
  take(): AsyncGenerator<T>;
}

/** How much may wait, and what is said instead. */
export interface EventQueueOptions<T> {
  most: number;
  overflow: T;
  idle: T;
  idleMs: number;
}

/** Makes a queue for one reader. */
export function createEventQueue<T>({ most, overflow, idle, idleMs }: EventQueueOptions<T>): EventQueue<T> {
  let waiting: T[] = [];
  let ended = false;
  let wake = () => {};
  async function* take(): AsyncGenerator<T> {
    while (true) {
      while (waiting.length > 0) yield waiting.shift() as T;
      if (ended) return;
      let timer: ReturnType<typeof setTimeout> | undefined;
      const quiet = await new Promise<boolean>((resolve) => {
        wake = () => resolve(false);
        timer = setTimeout(() => resolve(true), idleMs);
      });
      clearTimeout(timer);
      if (quiet) yield idle;
    }
  }
  return {
    push: (event) => {
      if (ended) return;
      if (waiting.length >= most) waiting = [overflow];
      else waiting.push(event);
      wake();
    },
    end: () => {
      ended = true;
      wake();
    },
    take,
  };
}
