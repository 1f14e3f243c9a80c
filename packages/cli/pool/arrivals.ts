/** Computes the times at which a load creates its objects: all at once, at a constant rate, or at random. @module */

/** How objects are created. Rates are per second. */
export type Arrivals =
  | { kind: "burst"; clients: number }
  | { kind: "rate"; perSecond: number }
  | { kind: "poisson"; perSecond: number; seed: number };

/** Returns the times of `count` objects, in milliseconds from the start, ascending. */
export function dueTimes(count: number, arrivals: Arrivals): number[] {
  if (arrivals.kind === "burst") return Array.from({ length: count }, () => 0);
  const gap = 1000 / arrivals.perSecond;
  if (arrivals.kind === "rate") return Array.from({ length: count }, (_, index) => index * gap);
  const random = createRandom(arrivals.seed);
  let at = 0;
  return Array.from({ length: count }, () => at += -Math.log(1 - random()) * gap);
}

/** Creates a random number generator from 0 (inclusive) to 1. The same seed gives the same numbers (xorshift32). */
function createRandom(seed: number): () => number {
  let state = seed | 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}
