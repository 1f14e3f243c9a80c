/** What a run says of the tests that it left out. @module */
import { expect, test } from "vitest";
import { factLines, factsOf } from "../../../dev/ci/facts.ts";

const needy = { file: "test/node/sdk.test.ts", name: "with the runtime inside > runs" };

test("a test that needs a real node may be left out where nodes are simulated", () => {
  const facts = factsOf([needy, needy], { seed: 7, nodes: "simulated", engine: "fake" }, "auto");
  expect(factLines(facts)).toEqual([
    "engine   fake",
    "nodes    simulated",
    "seed     HOOKBOX_TEST_SEED=7",
    "skipped  2 (needs a real node)",
  ]);
  expect(facts.unexplained).toEqual([]);
});

test.for([
  { reason: "there is a real node", left: needy, given: { nodes: "real" }, wanted: "auto" },
  { reason: "a real node is demanded", left: needy, given: { nodes: "simulated" }, wanted: "real" },
  {
    reason: "no file there needs a node",
    left: { file: "test/api/objects/apply.test.ts", name: "merges" },
    given: { nodes: "simulated" },
    wanted: "auto",
  },
])("any other is named: $reason", ({ left, given, wanted }) => {
  const facts = factsOf([left], { seed: 7, ...given }, wanted);
  expect(facts.skipped).toEqual({});
  expect(factLines(facts).at(-1)).toContain(`${left.file}: ${left.name}`);
});

test("nothing left out is said, too", () => {
  expect(factLines(factsOf([], { seed: 1 }, undefined))).toEqual(["seed     HOOKBOX_TEST_SEED=1", "skipped  none"]);
});
