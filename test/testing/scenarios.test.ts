/** The scenario files, in memory. @module */
import { readdirSync } from "node:fs";
import { expect, test } from "vitest";
import { compareHistories, createTestCluster, PACES, runScenario } from "../../testing/mod.ts";

const FOLDER = new URL("../../testing/scenarios/", import.meta.url);

test.for(readdirSync(FOLDER))("%s comes to rest in the same way, however fast Pods start", async (file) => {
  const histories = await Promise.all(PACES.map(async (pods) => {
    await using cluster = await createTestCluster({ pods });
    const history = await runScenario(new URL(file, FOLDER), cluster);
    expect(cluster.faults()).toEqual([]);
    return history;
  }));
  for (const history of histories) expect(compareHistories(histories, history)).toEqual([]);
  expect(histories[0]?.segments.length).toBeGreaterThan(1);
});
