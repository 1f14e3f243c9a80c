/** Answers that are asked for once and remembered for a while. Knows no clock. @module */

export interface Remembered<T> {
  /** Returns what is remembered at `now` (milliseconds), else asks; who asks for the same meanwhile gets the same. */
  get(key: string, now: number, ask: () => Promise<T>): T | Promise<T>;
  /** Whether the last answer that is remembered was a good one, though its time may be over. */
  wasGood(key: string): boolean;
}

/** What an answer is worth. */
export interface Worth {
  /** Bad answers push no good one out. */
  isGood: boolean;
  /** How long it is good for, in milliseconds. */
  ttlMs: number;
}

interface Entry<T> {
  value: T;
  until: number;
}

/**
 * Makes a memory of so many good answers, and as many bad ones; of each the oldest goes first. What is asked for with an
 * error is not remembered.
 */
export function createMemory<T>(size: number, worthOf: (value: T) => Worth): Remembered<T> {
  const good = new Map<string, Entry<T>>();
  const bad = new Map<string, Entry<T>>();
  const running = new Map<string, Promise<T>>();

  function remember(key: string, value: T, now: number): void {
    const { isGood, ttlMs } = worthOf(value);
    good.delete(key);
    bad.delete(key);
    const entries = isGood ? good : bad;
    entries.set(key, { value, until: now + ttlMs });
    const [oldest] = entries.keys();
    if (entries.size > size && oldest !== undefined) entries.delete(oldest);
  }

  return {
    get(key, now, ask) {
      const known = good.get(key) ?? bad.get(key);
      if (known && known.until > now) return known.value;
      const already = running.get(key);
      if (already) return already;
      const asked = ask().then((value) => {
        remember(key, value, now);
        return value;
      }).finally(() => running.delete(key));
      running.set(key, asked);
      return asked;
    },
    wasGood: (key) => good.has(key),
  };
}
