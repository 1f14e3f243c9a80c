/**
 * Searches for races: the real hooks and the stand-in, while users, nodes, network and processes do what they do.
 * `npm run soak` searches longer. @module
 */
import { expect, test } from "vitest";
import { scenarios } from "./scenario.ts";
import { run, type Scenario } from "./world.ts";
import fc, { runs } from "../properties.ts";

const RUNS = runs(25);
const PATIENCE_MS = 10_000 + RUNS * 2000;

async function holds(scenario: Scenario): Promise<void> {
  const { violations, atRest, faults } = await run(scenario);
  expect({ violations, atRest, faults }).toEqual({ violations: [], atRest: [], faults: [] });
}

test("whatever users do and however late everybody learns of it, nothing is shared, lost or left over", async () => {
  await fc.assert(fc.asyncProperty(scenarios(false), holds), { numRuns: RUNS });
}, PATIENCE_MS);

test("nor when hooks and engines are started anew in the midst of it", async () => {
  await fc.assert(fc.asyncProperty(scenarios(true), holds), { numRuns: RUNS });
}, PATIENCE_MS);
