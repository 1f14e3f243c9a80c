/** @module */
import { expect, test } from "vitest";
import { isFaulty } from "../../../dev/bench/result.ts";
import { aReport, aResult } from "./report/results.ts";

const faulty = (implementation: string) => aResult({ implementation, violations: ["shared"] });

test.for([
  { name: "nobody's", results: [aResult(), aResult({ implementation: "peer" })], want: false },
  { name: "hookbox's", results: [faulty("this"), aResult({ implementation: "peer" })], want: true },
  { name: "another checkout's", results: [aResult(), faulty("against")], want: true },
  { name: "the Go controller's", results: [aResult(), faulty("peer")], want: false },
])("isFaulty() of a violation: $name", ({ results, want }) => {
  expect(isFaulty(aReport(results, { peer: "peer" }))).toBe(want);
});

test("isFaulty() excuses nobody where the Go controller does not run", () => {
  expect(isFaulty(aReport([faulty("peer")]))).toBe(true);
});
