/** @module */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { plotsOf, writeReport } from "../../../../dev/bench/report/write.ts";
import { aReport, aResult } from "./results.ts";
import { makeTempFolder } from "../../../tempfolder.ts";

test("writeReport() writes figures, tables and plots, and returns the tables", () => {
  const folder = join(makeTempFolder(), "new");
  const report = aReport([aResult({ shape: "claims-burst" })]);
  const markdown = writeReport(folder, report);
  expect(readdirSync(folder).sort()).toEqual(["claims-burst-latency.svg", "report.json", "report.md"]);
  expect(JSON.parse(readFileSync(join(folder, "report.json"), "utf8"))).toEqual(report);
  expect(readFileSync(join(folder, "report.md"), "utf8")).toBe(markdown);
});

test("plotsOf() draws a sweep's latency and cost against its size, and memory where it was followed", () => {
  const size = (replicas: number) => aResult({ shape: "by-members", parameters: { count: 2, replicas } });
  const memory = { at: [0, 10], series: { keeper: [100, 101] } };
  const plots = plotsOf({ results: [size(30), size(100), aResult({ shape: "churn", memory })] });
  expect(Object.keys(plots).sort()).toEqual([
    "by-members-cost",
    "by-members-latency",
    "by-members-replicas-100-latency",
    "by-members-replicas-30-latency",
    "churn-latency",
    "churn-this-1-memory",
  ]);
  expect(plots["by-members-latency"]).toContain("p99, this");
});
