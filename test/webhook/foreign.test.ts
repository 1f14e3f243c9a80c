/** @module */
import { expect, test } from "vitest";
import { mergeApply } from "../../packages/api/objects/apply.ts";
import { withForeignFields } from "../../packages/webhook/unchanged.ts";

const cases = [
  { name: "nothing foreign", wanted: { a: 1 }, observed: { a: 2 }, applied: {}, want: { a: 1 } },
  { name: "a foreign field is answered once", wanted: { a: 1 }, observed: { b: 2 }, applied: {}, want: { a: 1, b: 2 } },
  { name: "and then left out", wanted: { a: 1 }, observed: { b: 2 }, applied: { b: 2 }, want: { a: 1 } },
  {
    name: "inside objects",
    wanted: { o: { a: 1 } },
    observed: { o: { a: 1, b: 2 } },
    applied: {},
    want: { o: { a: 1, b: 2 } },
  },
  {
    name: "never inside lists",
    wanted: { l: [{ a: 1 }] },
    observed: { l: [{ b: 2 }] },
    applied: {},
    want: { l: [{ a: 1 }] },
  },
  { name: "no observed object", wanted: { a: 1 }, observed: undefined, applied: undefined, want: { a: 1 } },
];

test.for(cases)("withForeignFields(): $name", ({ wanted, observed, applied, want }) => {
  expect(withForeignFields(wanted, observed, applied)).toEqual(want);
});

test("withForeignFields() leaves fields alone that are not at stake", () => {
  expect(withForeignFields({ a: 1 }, { b: 2, c: 3 }, {}, (field) => field === "b")).toEqual({ a: 1, b: 2 });
});

test("two merges, and exactly what is wanted is left", () => {
  const wanted = { a: 1, o: { x: 1 } };
  const drifted = { a: 2, b: 3, o: { x: 2, y: { z: 1 } } };
  const answered = withForeignFields(wanted, drifted, {});
  const first = mergeApply(drifted, {}, answered);
  expect(mergeApply(first, answered, withForeignFields(wanted, first, answered))).toEqual(wanted);
});
