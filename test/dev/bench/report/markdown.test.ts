/** @module */
import { expect, test } from "vitest";
import { renderMarkdown } from "../../../../dev/bench/report/markdown.ts";
import type { Result } from "../../../../dev/bench/result.ts";
import { aReport, aRequest, aResult } from "./results.ts";
import { FULL, SLOWER, tableOf, tablesOf } from "./tables.ts";

test("renderMarkdown() sums up each implementation, and divides the first by the second", () => {
  const overview = tableOf(tablesOf(FULL, { ...SLOWER, violations: ["x"] }), "shape");
  expect(overview).toEqual([
    [
      ...["shape", "implementation", "ready/asked", "per second", "p50 ms", "p95 ms", "p99 ms"],
      ...["writes per object", "reads per object", "CPU ms per object", "memory MiB", "violations"],
    ],
    ["claims", "this", "2/2", "2.00", "100", "300", "300", "2.00", "1.00", "250", "70.5", "0"],
    ["claims", "against", "2/2", "1.00", "200", "600", "600", "2.50", "0.50", "1,000", "70.5", "1"],
    ["claims", "this ÷ against", "", "2.00", "0.50", "", "0.50", "0.80", "", "0.25", "", ""],
  ]);
});

test("renderMarkdown() writes a dash for what was not measured, and no ratio of it", () => {
  const overview = tableOf(tablesOf({ samples: [] }, { ...SLOWER }), "shape");
  expect(overview.slice(1).map((row) => row.slice(2))).toEqual([
    ["0/2", "–", "–", "–", "–", "–", "–", "–", "–", "0"],
    ["2/2", "1.00", "200", "600", "600", "2.50", "0.50", "1,000", "70.5", "0"],
    ["", "", "", "", "", "", "", "", "", ""],
  ]);
});

test("renderMarkdown() has a line for each size of a shape, and compares each with its like", () => {
  const sizes = [30, 100].flatMap((replicas) => {
    const parameters = { count: 2, replicas };
    return [{ ...FULL, parameters }, { ...SLOWER, parameters }];
  });
  const tables = tablesOf(...sizes);
  expect(tableOf(tables, "shape").map((row) => row.slice(0, 2).join(": "))).toEqual([
    "shape: implementation",
    ...["claims, replicas 30: this", "claims, replicas 30: against", "claims, replicas 30: this ÷ against"],
    ...["claims, replicas 100: this", "claims, replicas 100: against", "claims, replicas 100: this ÷ against"],
  ]);
  const runs = ["replicas 30, this", "replicas 30, against", "replicas 100, this", "replicas 100, against"];
  expect(tableOf(tables, "client")[0]?.slice(3)).toEqual(runs);
  expect(tableOf(tables, "process").slice(1, 5).map((row) => row[1])).toEqual(runs);
});

const NOTES = [
  {
    note: "does not report the senders of requests",
    when: "a client is not known",
    results: [{ requests: [unknownClient()] }],
  },
  { note: "rounds: percentiles", when: "there are several rounds", results: [{}, { round: 2 }] },
  { note: "a line with ÷", when: "there is something to compare", results: [{}, { implementation: "against" }] },
];

function unknownClient() {
  const { client: _, ...request } = aRequest();
  return request;
}

test.for(NOTES)("renderMarkdown() says that $when, and only then", ({ note, results }) => {
  expect(renderMarkdown(aReport(results.map(aResult)))).toContain(note);
  expect(renderMarkdown(aReport([aResult({ requests: [aRequest()] })]))).not.toContain(note);
});

test("renderMarkdown() sets requests side by side, by client, and puts the rare ones together", () => {
  const rare = [aRequest({ resource: "pods", count: 9 }), aRequest({ resource: "leases", count: 8 })];
  const samples = aResult().samples;
  const tables = tablesOf(
    {
      asked: 1000,
      samples,
      requests: [
        aRequest({ client: "keeper", count: 2000 }),
        aRequest({ count: 1000 }),
        aRequest({ client: "keeper", verb: "get", count: 10 }),
        ...rare,
      ],
    },
    {
      implementation: "against",
      asked: 1000,
      requests: [aRequest({ count: 1500 }), aRequest({ verb: "get", count: 500 })],
    },
  );
  expect(tableOf(tables, "client")).toEqual([
    ["client", "verb", "resource", "this", "against"],
    ["keeper", "patch", "sandboxes", "2.00", "0"],
    ["keeper", "get", "sandboxes", "0.01", "0"],
    ["engine", "patch", "sandboxes", "1.00", "1.50"],
    ["engine", "get", "sandboxes", "0", "0.50"],
    ["rarer ones", "", "", "0.02", "0"],
  ]);
});

test("renderMarkdown() closes with every violation and whose it is, or says that there were none", () => {
  const closing = (...results: Partial<Result>[]) =>
    renderMarkdown(aReport(results.map(aResult))).split("## Violations\n\n")[1];
  expect(closing({})).toBe("There were none: no run violated an invariant.\n");
  expect(closing({ violations: ["a *b*", "c"] }, { implementation: "against", violations: ["d"] })).toBe(
    "- claims, this: a \\*b\\*\n- claims, this: c\n- claims, against: d\n",
  );
});
