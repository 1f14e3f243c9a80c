/** A bounded queue between a source of events and a slow reader. @module */

/** The queue. */
export interface EventQueue<T> {
  /** Adds an event. If the queue is full, all waiting events are replaced by `overflow`. */
  push(event: T): void;
  /** Ends the queue: no more events are accepted, and the reader ends after the waiting ones. */
  end(): void;
  /** Yields events as they arrive, and `idle` each time none arrived for `idleMs` milliseconds. */
  take(): AsyncGenerator<T>;
}

/** Size of the queue, and the events that it adds. */
export interface EventQueueOptions<T> {
  most: number;
  overflow: T;
  idle: T;
  idleMs: number;
}

/** Creates a queue for one reader. */
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
