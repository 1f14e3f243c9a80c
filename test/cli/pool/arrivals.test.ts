/** @module */
import { expect, test } from "vitest";
import { dueTimes } from "../../../packages/cli/pool/arrivals.ts";

test("dueTimes() puts a burst at the start and a rate at equal distances", () => {
  expect(dueTimes(3, { kind: "burst", clients: 2 })).toEqual([0, 0, 0]);
  expect(dueTimes(4, { kind: "rate", perSecond: 20 })).toEqual([0, 50, 100, 150]);
});

test("dueTimes() of a Poisson stream: the mean and the spread of its gaps are 1/rate, the same for a seed", () => {
  const arrivals = { kind: "poisson", perSecond: 10, seed: 7 } as const;
  const times = dueTimes(20_000, arrivals);
  const gaps = times.map((time, index) => time - (times[index - 1] ?? 0));
  const mean = gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length;
  const deviation = Math.sqrt(gaps.reduce((sum, gap) => sum + (gap - mean) ** 2, 0) / gaps.length);
  expect(Math.min(...gaps)).toBeGreaterThanOrEqual(0);
  expect(mean / 100).toBeCloseTo(1, 1);
  expect(deviation / 100).toBeCloseTo(1, 1);
  expect(dueTimes(20_000, arrivals)).toEqual(times);
  expect(dueTimes(5, { ...arrivals, seed: 8 })).not.toEqual(times.slice(0, 5));
});
