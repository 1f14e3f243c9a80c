/** Where two values differ, in words that a reviewer reads. @module */
import { expect, test } from "vitest";
import { fieldChanges } from "../../../packages/cli/replay/values.ts";
import fc from "../../properties.ts";

const ready = (status: string, message = "") => ({ type: "Ready", status, message });
const finished = { type: "Finished", status: "True" };

test.for<{ name: string; before: unknown; after: unknown; want: [string, unknown, unknown][] }>([
  { name: "equal", before: { a: [1, { b: null }] }, after: { a: [1, { b: null }] }, want: [] },
  { name: "keys stand otherwise", before: { a: 1, b: 2 }, after: { b: 2, a: 1 }, want: [] },
  { name: "a field", before: { spec: { x: 1 } }, after: { spec: { x: 2 } }, want: [["spec.x", 1, 2]] },
  {
    name: "a field goes",
    before: { spec: { x: { y: 1 } } },
    after: { spec: {} },
    want: [["spec.x", { y: 1 }, undefined]],
  },
  { name: "null is not absent", before: { x: null }, after: {}, want: [["x", null, undefined]] },
  { name: "a label", before: { "a.b/c": "1" }, after: { "a.b/c": "2" }, want: [['["a.b/c"]', "1", "2"]] },
  {
    name: "conditions go by type",
    before: { conditions: [ready("True"), finished] },
    after: { conditions: [ready("False")] },
    want: [["conditions[Ready].status", "True", "False"], ["conditions[Finished]", finished, undefined]],
  },
  {
    name: "named items in another order",
    before: { env: [{ name: "A" }, { name: "B" }] },
    after: { env: [{ name: "B" }, { name: "A" }] },
    want: [["env (order)", ["A", "B"], ["B", "A"]]],
  },
  { name: "words in a list", before: { a: ["x"] }, after: { a: ["x", "y"] }, want: [["a", ["x"], ["x", "y"]]] },
  {
    name: "items without names",
    before: { rules: [{ from: 1 }, { from: 2 }] },
    after: { rules: [{ from: 1 }, { from: 3 }] },
    want: [["rules[1].from", 2, 3]],
  },
  {
    name: "two of one name are distinguished by their places",
    before: [{ name: "a", x: 1 }, { name: "a", x: 2 }],
    after: [{ name: "a", x: 1 }, { name: "a", x: 3 }],
    want: [["[1].x", 2, 3]],
  },
])("fieldChanges(): $name", ({ before, after, want }) => {
  expect(fieldChanges(before, after).map(({ path, before, after }) => [path, before, after])).toEqual(want);
});

test("fieldChanges() finds nothing in equal values, and something in unequal ones", () => {
  fc.assert(fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
    const [one, other] = [JSON.parse(JSON.stringify(a)), JSON.parse(JSON.stringify(b))];
    expect(fieldChanges(one, structuredClone(one))).toEqual([]);
    if (canonical(one) !== canonical(other)) expect(fieldChanges(one, other)).not.toEqual([]);
  }));
});

function canonical(value: unknown): string {
  return JSON.stringify(
    value,
    (_, field) =>
      typeof field === "object" && field !== null && !Array.isArray(field)
        ? Object.fromEntries(Object.entries(field).sort(([a], [b]) => (a < b ? -1 : 1)))
        : field,
  );
}
