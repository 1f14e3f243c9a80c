/** Whom a pool has served, by spans of time. @module */
import { expect, test } from "vitest";
import { spansOf } from "../../packages/dashboard/history.tsx";

const NOW = Date.parse("2026-01-01T12:00:00Z");
const ago = (minutes: number, how: "warm" | "cold" | "unknown") => ({ at: NOW - minutes * 60_000, how });

test("spansOf() counts by five minutes, oldest first; what is older than an hour is not there", () => {
  const spans = spansOf([
    ago(61, "warm"),
    ago(60, "cold"),
    ago(59, "cold"),
    ago(7, "warm"),
    ago(6, "unknown"),
    ago(1, "warm"),
    ago(0, "warm"),
    { at: -Infinity, how: "warm" },
  ], NOW);
  expect(spans.length).toBe(12);
  expect(spans[0]).toEqual({ warm: 0, cold: 1, unknown: 0 });
  expect(spans[10]).toEqual({ warm: 1, cold: 0, unknown: 1 });
  expect(spans[11]).toEqual({ warm: 2, cold: 0, unknown: 0 });
  expect(spans.slice(1, 10)).toEqual(Array(9).fill({ warm: 0, cold: 0, unknown: 0 }));
});

test("spansOf() takes what a clock ahead of ours has noted for what has just been", () => {
  expect(spansOf([ago(-3, "cold")], NOW)[11]).toEqual({ warm: 0, cold: 1, unknown: 0 });
});
