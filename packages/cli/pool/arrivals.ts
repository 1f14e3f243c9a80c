/** When a load asks for its objects: all at once, at a steady rate, or at random times of a steady mean. Pure. @module */

/** How objects are asked for. Rates are per second. */
export type Arrivals =
  | { kind: "burst"; clients: number }
  | { kind: "rate"; perSecond: number }
  | { kind: "poisson"; perSecond: number; seed: number };

/** Lists when each of `count` objects is due, in milliseconds from the start, ascending. */
export function dueTimes(count: number, arrivals: Arrivals): number[] {
  if (arrivals.kind === "burst") return Array.from({ length: count }, () => 0);
  const gap = 1000 / arrivals.perSecond;
  if (arrivals.kind === "rate") return Array.from({ length: count }, (_, index) => index * gap);
  const random = createRandom(arrivals.seed);
  let at = 0;
  return Array.from({ length: count }, () => at += -Math.log(1 - random()) * gap);
}

/** Makes a generator of numbers from 0 (inclusive) to 1: the same ones for the same seed (xorshift32). */
function createRandom(seed: number): () => number {
  let state = seed | 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}
