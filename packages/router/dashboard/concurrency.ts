/** Places that several share: nobody holds more than a part of them, so that the others find some. Pure. @module */

/** Takes a place for somebody; returns what gives it back once, however often it is called, undefined if there is none for them. */
export type ConcurrencyLimit = (who: string) => (() => void) | undefined;

/** Makes `most` places, of which each may hold `each`. */
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
