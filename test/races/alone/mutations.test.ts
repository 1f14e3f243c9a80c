/** Races that were mended, put back one by one: the search finds each of them, and nothing where none is put back. @module */
import { expect, onTestFinished, test, vi } from "vitest";
import fc from "../../properties.ts";
import { CLAIM_MUTANTS } from "../mutants/claims.ts";
import { POOL_MUTANTS } from "../mutants/pools.ts";
import { rashWrites, switched } from "../mutants/switches.ts";
import { scenarios } from "../scenario.ts";
import type { Variant } from "../variant.ts";
import { run, type Scenario } from "../world.ts";

vi.mock(import("../../../packages/binder/writes.ts"), async (actual) => rashWrites(await actual()));

/** The same for everybody and every commit: what is found once is found again. Of 25 the one that finds all of them soonest. */
const SEED = 3;
const MOST_RUNS = 200;

const SCENARIOS = fc.sample(scenarios(true), { numRuns: MOST_RUNS, seed: SEED });

test.for([...POOL_MUTANTS, ...CLAIM_MUTANTS])("$name: $reason", async ({ variant, on, foundBy }) => {
  switched.on = on;
  onTestFinished(() => void (switched.on = undefined));
  const found = await firstFound(variant, foundBy);
  if (found === undefined) return expect.fail(`nothing goes wrong in ${MOST_RUNS} scenarios`);
  switched.on = undefined;
  expect(await whatGoesWrong(found)).toEqual([]);
});

/** Looks first at the scenario that found it before: when the product changes, it may be another one. */
async function firstFound(variant: Variant | undefined, foundBy: number): Promise<Scenario | undefined> {
  const sooner = SCENARIOS.slice(foundBy, foundBy + 1);
  for (const scenario of [...sooner, ...SCENARIOS]) {
    if ((await whatGoesWrong(scenario, variant)).length > 0) return scenario;
  }
  return undefined;
}

async function whatGoesWrong(scenario: Scenario, variant?: Variant): Promise<unknown[]> {
  const { violations, atRest, faults } = await run(scenario, variant);
  return [violations, atRest, faults].flat();
}
