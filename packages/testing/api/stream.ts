/** A stream of values with one reader. Both sides can end it at any time. @module */

export interface Stream<T> extends AsyncIterableIterator<T> {
  push(value: T): void;
  /** Ends the stream after the pushed values have been read; with an error, reading then throws the error. */
  end(error?: Error): void;
  /** Tells whether the reader has read everything and waits for more. */
  isAwaited(): boolean;
}

type Wanting<T> = { resolve(result: IteratorResult<T, undefined>): void; reject(error: Error): void };

/**
 * Makes a stream. It is not a generator, because the reader must be able to stop (`return`) while it waits for a value.
 *
 * @param onEnd called once, when either side has ended the stream
 * @param onAwaited called whenever the reader begins to wait
 */
export function createStream<T>(onEnd: () => void, onAwaited: () => void): Stream<T> {
  const values: T[] = [];
  const wanting: Wanting<T>[] = [];
  const over = { is: false, error: undefined as Error | undefined };

  function end(error?: Error): void {
    if (over.is) return;
    Object.assign(over, { is: true, error });
    for (const { resolve, reject } of wanting.splice(0)) error ? reject(error) : resolve(DONE);
    onEnd();
  }

  return {
    push(value) {
      if (over.is) return;
      const first = wanting.shift();
      if (first) first.resolve({ done: false, value });
      else values.push(value);
    },
    end,
    isAwaited: () => wanting.length > 0,
    next() {
      if (values.length > 0) return Promise.resolve({ done: false, value: values.shift() as T });
      if (over.error) return Promise.reject(over.error);
      if (over.is) return Promise.resolve(DONE);
      return new Promise((resolve, reject) => {
        wanting.push({ resolve, reject });
        onAwaited();
      });
    },
    return() {
      values.length = 0;
      end();
      return Promise.resolve(DONE);
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

const DONE = { done: true, value: undefined } as const;
