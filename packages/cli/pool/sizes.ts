/** Simulates a pool with several sizes, and finds the smallest one that reaches the target. @module */
import { type Demand, type PoolOutcome, simulatePool } from "./simulate.ts";

/** Results by size. */
export interface PoolCurve {
  /** Ascending by size. */
  outcomes: PoolOutcome[];
  /** The smallest size that reaches the target hit rate. */
  smallest: number;
}

/** Number of sizes between 0 and the one at which no claim waits. */
const STEPS = 8;

/**
 * Simulates evenly spaced sizes, from 0 to the one at which every claim gets a Sandbox of the pool. Adds the current
 * and the smallest sufficient size.
 *
 * @param target wanted share of claims that get a Sandbox of the pool, above 0, at most 1
 * @param current size of the pool; undefined if there is no pool yet
 */
export function poolCurve(demand: Demand, target: number, current?: number): PoolCurve {
  const smallest = smallestPool(demand, target);
  const enough = smallestPool(demand, 1);
  const steps = Array.from({ length: STEPS + 1 }, (_, step) => Math.round(step * enough / STEPS));
  const sizes = new Set([...steps, smallest, ...(current === undefined ? [] : [current])]);
  const outcomes = [...sizes].sort((a, b) => a - b).map((replicas) => simulatePool(demand, replicas));
  return { outcomes, smallest };
}

/** Returns the smallest size with at least this hit rate. A larger pool never serves fewer claims. */
export function smallestPool(demand: Demand, target: number): number {
  let [low, high] = [0, demand.arrivals.length];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (simulatePool(demand, middle).hitRate >= target) high = middle;
    else low = middle + 1;
  }
  return low;
}
