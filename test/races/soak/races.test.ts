/**
 * Searches for races: the real hooks, binder and keeper and the fake Metacontroller, while users, nodes, network and
 * processes do what they do. 500 scenarios at each `npm test`, 100,000 fresh ones by `npm run soak`. @module
 */
import { expect, inject, test } from "vitest";
import { scenarios } from "../scenario.ts";
import { run, type Scenario } from "../world.ts";
import fc from "../../properties.ts";

const RUNS = inject("isSoak") ? 50_000 : 250;
const PATIENCE_MS = 10_000 + RUNS * 2000;
/** A search for the smallest failure ends before the test does: it would say nothing. */
const SETTINGS = { numRuns: RUNS, interruptAfterTimeLimit: PATIENCE_MS - 5000, markInterruptAsFailure: true };

async function holds(scenario: Scenario): Promise<void> {
  const { violations, atRest, faults } = await run(scenario);
  expect({ violations, atRest, faults }).toEqual({ violations: [], atRest: [], faults: [] });
}

test("whatever users do and however late everybody learns of it, nothing is shared, lost or left over", async () => {
  await fc.assert(fc.asyncProperty(scenarios(false), holds), SETTINGS);
}, PATIENCE_MS);

test("nor when processes are killed, started anew or run twice in the midst of it", async () => {
  await fc.assert(fc.asyncProperty(scenarios(true), holds), SETTINGS);
}, PATIENCE_MS);
