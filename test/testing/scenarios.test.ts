/** The scenario files, in memory, and as they went on a cluster with the real Metacontroller. @module */
import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import {
  compareHistories,
  createTestCluster,
  PACES,
  runScenario,
  type ScenarioHistory,
} from "../../packages/testing/mod.ts";
import { changedHook } from "./changedhook.ts";

const FOLDER = new URL("../../packages/testing/scenarios/", import.meta.url);
/** By file, without its ending: what `npm run record` saw. */
const recorded: Record<string, ScenarioHistory> = JSON.parse(
  readFileSync(new URL("../dev/metacontroller/transcripts/histories.json", import.meta.url), "utf8"),
);
const recordedOf = (file: string): ScenarioHistory => {
  const history = recorded[file.replace(/\.yaml$/, "")];
  if (!history) throw new Error(`Cannot compare ${file}: it is not recorded (npm run record -- transcripts)`);
  return history;
};

test.for(readdirSync(FOLDER))(
  "%s comes to rest in the same way, however fast Pods start, as with Metacontroller",
  async (file) => {
    const histories = await Promise.all(PACES.map(async (pods) => {
      await using cluster = await createTestCluster({ pods });
      const history = await runScenario(new URL(file, FOLDER), cluster);
      expect(cluster.faults()).toEqual([]);
      return history;
    }));
    for (const history of histories) expect(compareHistories(histories, history)).toEqual([]);
    expect(histories[0]?.segments.length).toBeGreaterThan(1);
    expect(compareHistories(histories, recordedOf(file))).toEqual([]);
  },
);

test("a hook that decided otherwise would have another history than the recorded one", async () => {
  const file = new URL("claim-cold.yaml", FOLDER);
  const hooks = changedHook("sandbox", '"reason":"NotSuspended"', '"reason":"Awake"');
  await using cluster = await createTestCluster({ hooks, pods: PACES[0] });
  expect(compareHistories([await runScenario(file, cluster)], recordedOf("claim-cold.yaml"))).not.toEqual([]);
});
