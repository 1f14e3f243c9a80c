/** fast-check, begun with the seed of the run: every property is tried with the same values again, and says so. @module */
import fc from "fast-check";
import { inject } from "vitest";

/** How many times a property is tried that is to be tried `count` times: more often in a long run. */
export function runs(count: number): number {
  return inject("isSoak") ? count * 100 : count;
}

fc.configureGlobal({ seed: inject("seed"), numRuns: runs(100) });

export default fc;
