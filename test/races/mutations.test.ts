/** Races that were mended, put back one by one: the search finds each of them. @module */
import { expect, onTestFinished, test, vi } from "vitest";
import fc from "../properties.ts";
import { CLAIM_MUTANTS } from "./mutants/claims.ts";
import { POOL_MUTANTS } from "./mutants/pools.ts";
import { rashWrites, switched } from "./mutants/switches.ts";
import { scenarios } from "./scenario.ts";
import type { Variant } from "./variant.ts";
import { run } from "./world.ts";

vi.mock(import("../../packages/binder/writes.ts"), async (actual) => rashWrites(await actual()));

/** The same for everybody and every commit: what is found once is found again. */
const SEED = 1;
const MOST_RUNS = 200;
const PATIENCE_MS = 240_000;

const SCENARIOS = fc.sample(scenarios(true), { numRuns: MOST_RUNS, seed: SEED });

test("nothing is found where nothing is put back", async () => {
  expect(await firstFound(undefined)).toBe(Infinity);
}, PATIENCE_MS);

test.for([...POOL_MUTANTS, ...CLAIM_MUTANTS])("$name: $reason", { timeout: PATIENCE_MS }, async ({ variant, on }) => {
  switched.on = on;
  onTestFinished(() => void (switched.on = undefined));
  expect(await firstFound(variant)).toBeLessThanOrEqual(MOST_RUNS);
});

/** How many runs it takes until one goes wrong; Infinity: none does. */
async function firstFound(variant: Variant | undefined): Promise<number> {
  for (const [index, scenario] of SCENARIOS.entries()) {
    const { violations, atRest, faults } = await run(scenario, variant);
    if ([violations, atRest, faults].flat().length > 0) return index + 1;
  }
  return Infinity;
}
