/** @module */
import { expect, test } from "vitest";
import { median, percentile, summary } from "../../../../dev/bench/result.ts";

const HUNDRED = Array.from({ length: 100 }, (_, index) => 100 - index);

test.for([
  { name: "none", values: [], p: 50, want: undefined, reason: "no object, no time" },
  { name: "one", values: [7], p: 1, want: 7, reason: "every rank is the only one" },
  { name: "p0", values: [3, 1, 2], p: 0, want: 1, reason: "the smallest, not what stands before it" },
  { name: "p100", values: [3, 1, 2], p: 100, want: 3, reason: "the largest" },
  { name: "p50 of four", values: [40, 10, 30, 20], p: 50, want: 20, reason: "nearest rank, not the mean of two" },
  { name: "p51 of four", values: [40, 10, 30, 20], p: 51, want: 30, reason: "ranks are rounded up" },
  { name: "p99 of a hundred", values: HUNDRED, p: 99, want: 99, reason: "one in a hundred is above" },
  { name: "p55 of a hundred", values: HUNDRED, p: 55, want: 55, reason: "0.55 × 100 is a little more than 55" },
  { name: "numbers, not texts", values: [9, 10, 100], p: 34, want: 10, reason: "9 is less than 10" },
])("percentile() of $name", ({ values, p, want, reason }) => {
  expect(percentile(Object.freeze(values), p), reason).toBe(want);
});

test.for([
  { values: [], want: undefined },
  { values: [5], want: 5 },
  { values: [10, 9], want: 9.5 },
  { values: [10, 2, 9], want: 9 },
])("median() of $values is $want", ({ values, want }) => {
  expect(median(Object.freeze(values))).toBe(want);
});

test("summary() counts from the first creation to the last Ready, in whatever order they came", () => {
  const samples = [{ at: 1500, ms: 100 }, { at: 500, ms: 2000 }, { at: 600, ms: 300 }];
  expect(summary({ asked: 4, samples })).toEqual({
    asked: 4,
    ready: 3,
    perSecond: 1.5,
    p50: 300,
    p95: 2000,
    p99: 2000,
    max: 2000,
  });
});

test("summary() has no figures where nothing became Ready", () => {
  const none = { perSecond: undefined, p50: undefined, p95: undefined, p99: undefined, max: undefined };
  expect(summary({ asked: 4, samples: [] })).toEqual({ asked: 4, ready: 0, ...none });
});

test("summary() has no rate where no time passed", () => {
  expect(summary({ asked: 1, samples: [{ at: 5, ms: 0 }] }).perSecond).toBeUndefined();
});
