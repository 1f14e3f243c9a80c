/** The scenario files, in memory. @module */
import { readdirSync } from "node:fs";
import { expect, test } from "vitest";
import { compareHistories, createTestCluster, runScenario } from "../../testing/mod.ts";

const FOLDER = new URL("../../testing/scenarios/", import.meta.url);
const files = readdirSync(FOLDER);

test.for(files)("%s runs, and twice in the same way", async (file) => {
  const histories = [];
  for (let i = 0; i < 2; i++) {
    await using cluster = await createTestCluster();
    histories.push(await runScenario(new URL(file, FOLDER), cluster));
    expect(cluster.faults()).toEqual([]);
  }
  const [first, second] = histories;
  if (!first || !second) throw new Error("Cannot compare: a history is missing");
  expect(first.segments.length).toBeGreaterThan(1);
  expect(second).toEqual(first);
  expect(compareHistories(first, second)).toEqual([]);
});
