/** Answers that are asked for once and remembered for a while. Knows no clock. @module */

export interface Remembered<T> {
  /** Returns what is remembered at `now` (milliseconds), else asks; who asks for the same meanwhile gets the same. */
  get(key: string, now: number, ask: () => Promise<T>): T | Promise<T>;
}

interface Entry<T> {
  value: T;
  until: number;
}

/**
 * Makes a memory of so many answers; the oldest goes first. What is asked for with an error is not remembered.
 *
 * @param ttlOf how long an answer is good for, in milliseconds
 */
export function createMemory<T>(size: number, ttlOf: (value: T) => number): Remembered<T> {
  const entries = new Map<string, Entry<T>>();
  const running = new Map<string, Promise<T>>();
  return {
    get(key, now, ask) {
      const known = entries.get(key);
      if (known && known.until > now) return known.value;
      const already = running.get(key);
      if (already) return already;
      const asked = ask().then((value) => {
        entries.delete(key);
        entries.set(key, { value, until: now + ttlOf(value) });
        const [oldest] = entries.keys();
        if (entries.size > size && oldest !== undefined) entries.delete(oldest);
        return value;
      }).finally(() => running.delete(key));
      running.set(key, asked);
      return asked;
    },
  };
}
