/** When two histories are the same. @module */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import {
  compareHistories,
  createTestCluster,
  PACES,
  readScenario,
  runScenario,
  type ScenarioHistory,
  type TestClusterOptions,
} from "../../../packages/testing/mod.ts";
import { changedHook } from "../changedhook.ts";

const ready = (...states: string[]): ScenarioHistory => ({
  segments: [{
    steps: ["wait"],
    named: { "Sandbox/box": { conditions: { Ready: states.at(-1) ?? "" } } },
    others: { Pod: { "{}": 1 } },
    passing: { "Sandbox/box": { Ready: states } },
  }],
});
const reference = ready("False A", "False B", "True C");

test.for([
  { name: "the same", seen: reference, differs: 0 },
  { name: "a state that was skipped", seen: ready("False A", "True C"), differs: 0 },
  { name: "only the last state", seen: ready("True C"), differs: 0 },
  { name: "a state of another pace", seen: ready("False D", "True C"), differs: 0 },
  { name: "a state that no pace shows", seen: ready("False A", "False X", "True C"), differs: 1 },
  { name: "another order", seen: ready("False B", "False A", "True C"), differs: 1 },
  { name: "a state of each of two paces", seen: ready("False A", "False D", "True C"), differs: 1 },
  { name: "another end", seen: ready("False A", "True X"), differs: 2 },
])("compareHistories(): $name", ({ seen, differs }) => {
  expect(compareHistories([reference, ready("False D", "True C")], seen)).toHaveLength(differs);
});

test("what an object shows in passing does not count once a step deletes it, what others show does", () => {
  const deleting = (key: string, ...states: string[]) => ({
    segments: ready(...states).segments.map((segment) => ({ ...segment, steps: [`delete ${key}`, "wait"] })),
  });
  const differing = (key: string) =>
    compareHistories([deleting(key, "True C", "True C")], deleting(key, "False X", "True C"));
  expect(differing("Sandbox/box")).toEqual([]);
  expect(differing("Pod/box")).toHaveLength(1);
});

test("compareHistories() tells what there is more or less of, and other steps", () => {
  const [segment] = reference.segments;
  if (!segment) throw new Error("Cannot test without a segment");
  const with_ = (changes: object) => ({ segments: [{ ...segment, ...changes }] });
  expect(compareHistories([reference], with_({ others: { Pod: { "{}": 2 } } }))).toEqual([
    'after wait: other Pod is {"{}":2}, not {"{}":1}',
  ]);
  expect(compareHistories([reference], with_({ named: {} }))).toHaveLength(1);
  expect(compareHistories([reference], with_({ steps: ["advance"] }))).toEqual(["the steps are not the same"]);
  expect(() => compareHistories([], reference)).toThrow(RangeError);
});

test.for([
  { file: "sandbox-suspend.yaml", hook: "sandbox", from: '"reason":"PodTerminating"', to: '"reason":"Terminating"' },
  { file: "sandbox-suspend.yaml", hook: "sandbox", from: '"reason":"DependenciesNotReady"', to: '"reason":"NotYet"' },
  { file: "template-missing.yaml", hook: "sandboxclaim", from: '"reason":"Dependencies', to: '"reason":"Parts' },
  { file: "pool-rollout.yaml", hook: "sandboxwarmpool", from: '"reason":"Filling"', to: '"reason":"Growing"' },
])("a decision of $hook that differs is found: $from is $to", async ({ file, hook, from, to }) => {
  const steps =
    readScenario(readFileSync(new URL(`../../../packages/testing/scenarios/${file}`, import.meta.url), "utf8")).steps;
  const scenario = { steps: steps.filter(({ step }) => step !== "expect") };
  const runs = async (options: TestClusterOptions) => {
    await using cluster = await createTestCluster(options);
    return await runScenario(scenario, cluster);
  };
  const references = await Promise.all(PACES.map((pods) => runs({ pods })));
  const same = compareHistories(references, await runs({ pods: { startMs: 4000 } }));
  const other = compareHistories(
    references,
    await runs({ hooks: changedHook(hook, from, to), pods: { startMs: 4000 } }),
  );
  expect({ same, found: other.length > 0 }).toEqual({ same: [], found: true });
});
