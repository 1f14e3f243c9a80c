/** Limits how many places are in use, in all and for each holder. Pure. @module */

/**
 * Takes a place for `who`. Returns a function that frees it (repeated calls have no effect); undefined: no place is
 * free.
 */
export type ConcurrencyLimit = (who: string) => (() => void) | undefined;

/** Makes `most` places. One holder can have `each` of them. */
export function createConcurrencyLimit(most: number, each: number): ConcurrencyLimit {
  const held = new Map<string, number>();
  let all = 0;
  return (who) => {
    const before = held.get(who) ?? 0;
    if (all >= most || before >= each) return undefined;
    all += 1;
    held.set(who, before + 1);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      all -= 1;
      const left = (held.get(who) ?? 1) - 1;
      if (left > 0) held.set(who, left);
      else held.delete(who);
    };
  };
}
