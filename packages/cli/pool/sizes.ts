/** Which sizes of a pool are worth a look, and the smallest that is good enough. Pure. @module */
import { type Demand, type PoolOutcome, simulatePool } from "./simulate.ts";

/** How a pool would fare, by size. */
export interface PoolCurve {
  /** By size, ascending. */
  outcomes: PoolOutcome[];
  /** The smallest size with at least the wanted hit rate. */
  smallest: number;
}

/** Rows between none and the size at which nobody waits. */
const STEPS = 8;

/**
 * Simulates sizes from none to the one at which every claim gets a member, evenly spaced, and those that matter.
 *
 * @param target wanted share of claims that get a member, above 0, at most 1
 * @param current size that the pool has; undefined: there is no pool yet
 */
export function poolCurve(demand: Demand, target: number, current?: number): PoolCurve {
  const smallest = smallestPool(demand, target);
  const enough = smallestPool(demand, 1);
  const steps = Array.from({ length: STEPS + 1 }, (_, step) => Math.round(step * enough / STEPS));
  const sizes = new Set([...steps, smallest, ...(current === undefined ? [] : [current])]);
  const outcomes = [...sizes].sort((a, b) => a - b).map((replicas) => simulatePool(demand, replicas));
  return { outcomes, smallest };
}

/** Returns the smallest size with at least this hit rate; more members never serve fewer claims. */
export function smallestPool(demand: Demand, target: number): number {
  let [low, high] = [0, demand.arrivals.length];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (simulatePool(demand, middle).hitRate >= target) high = middle;
    else low = middle + 1;
  }
  return low;
}
