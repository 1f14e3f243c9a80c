import { expect, test } from "vitest";
import { createRateLimit } from "../../packages/router/limits.ts";
import { createStopwatch } from "../../packages/router/wake/hold.ts";

test("createRateLimit() gives each its burst, then as many as flow in", () => {
  const budget = createRateLimit(0.5, 2);
  expect([budget("a", 0), budget("a", 0), budget("a", 0), budget("b", 0)]).toEqual([0, 0, 2, 0]);
  expect([budget("a", 1900), budget("a", 2000), budget("a", 2000)]).toEqual([1, 0, 2]);
  expect([budget("a", 100_000), budget("a", 100_000), budget("a", 100_000)]).toEqual([0, 0, 2]);
});

test("createRateLimit() accepts returns of what was not needed, and no more than there was", () => {
  const budget = createRateLimit(1, 2);
  expect([budget("a", 0), budget("a", 0), budget("a", 0, -1), budget("a", 0), budget("a", 0)]).toEqual([0, 0, 0, 0, 1]);
  expect([budget("b", 0, -1), budget("b", 0), budget("b", 0), budget("b", 0)]).toEqual([0, 0, 0, 1]);
});

test("createRateLimit() without a rate has no limit", () => {
  const budget = createRateLimit(0, 0);
  expect(Array.from({ length: 100 }, () => budget("a", 0)).filter(Boolean)).toEqual([]);
});

test("createStopwatch() adds up each part", () => {
  const stopwatch = createStopwatch(100);
  stopwatch.enter("wake", 100);
  stopwatch.enter("handing over", 110);
  stopwatch.enter("wake", 130);
  expect(stopwatch.stop(135)).toBe("wake;dur=15.0, handing-over;dur=20.0, hold;dur=35.0");
});
