/** @module */
import { expect, test } from "vitest";
import { renderMarkdown } from "../../../bench/report/markdown.ts";
import { aReport, aRequest, aResult } from "./results.ts";
import { FULL, SLOWER, tableOf, tablesOf } from "./tables.ts";

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

test("renderMarkdown() has no line for rare requests where there are none", () => {
  expect(tableOf(tablesOf(FULL), "client").slice(1).map(([client]) => client)).toEqual(["engine", "engine", "load"]);
});

test("renderMarkdown() lists processes and hooks, without naming the only run there is", () => {
  const tables = tablesOf(FULL);
  expect(tableOf(tables, "process")).toEqual([
    ["process", "CPU s", "MiB at the end", "MiB at most"],
    ["engine", "0.50", "60.0", "70.5"],
    ["kube-apiserver", "4.00", "800", "900"],
  ]);
  expect(tableOf(tables, "hook")).toEqual([
    ["hook", "calls per object", "request KB per call", "response KB per call", "ms per call"],
    ["sandbox/sync", "1.50", "2.00", "0.50", "2.00"],
  ]);
});

test("renderMarkdown() sets a process of several runs together, and names it once", () => {
  expect(tableOf(tablesOf(FULL, SLOWER), "process").map((row) => row.slice(0, 3))).toEqual([
    ["process", "run", "CPU s"],
    ["engine", "this", "0.50"],
    ["", "against", "2.00"],
    ["kube-apiserver", "this", "4.00"],
    ["", "against", "16.0"],
  ]);
});

test("renderMarkdown() has a table of figures where a shape has any, and no empty table", () => {
  const tables = tablesOf({ figures: { fillPerSecond: 40 } }, { implementation: "against", figures: { dropped: 2 } });
  expect(tableOf(tables, "figure")).toEqual([
    ["figure", "this", "against"],
    ["fillPerSecond", "40.0", "–"],
    ["dropped", "–", "2.00"],
  ]);
  expect(tablesOf({}).map(([heads]) => heads?.[0])).toEqual(["shape"]);
});

test("renderMarkdown() tells the parameters that all sizes of a shape share", () => {
  const sizes = [30, 100].map((replicas) => aResult({ parameters: { count: 2, replicas, perSecond: 20 } }));
  expect(renderMarkdown(aReport(sizes))).toContain("\n## claims\n\nParameters: count 2, perSecond 20.\n\n");
});
