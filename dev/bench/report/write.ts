/** Writes a report into a folder: figures as JSON, tables as Markdown, plots as SVG. @module */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Report } from "../result.ts";
import { SWEEPS } from "../shapes/shapes.ts";
import { combine, costOf, distinct, type Row, runsOf } from "./rows.ts";
import { renderMarkdown } from "./markdown.ts";
import { costPlot, latencyPlot, memoryPlot } from "./plot.ts";

/** Writes `report.json`, `report.md` and the plots; returns the Markdown. */
export function writeReport(folder: string, report: Report): string {
  mkdirSync(folder, { recursive: true });
  const markdown = renderMarkdown(report);
  writeFileSync(join(folder, "report.json"), `${JSON.stringify(report)}\n`);
  writeFileSync(join(folder, "report.md"), markdown);
  for (const [name, svg] of Object.entries(plotsOf(report))) writeFileSync(join(folder, `${name}.svg`), svg);
  return markdown;
}

/** Draws the plots for the report's shapes. The keys are file names without extension. */
export function plotsOf({ results }: Pick<Report, "results">): Record<string, string> {
  const plots: Record<string, string> = {};
  const runs = runsOf(results);
  for (const title of distinct(runs.map(({ shape, size }) => `${shape} ${size}`.trim()))) {
    const ofTitle = runs.filter(({ shape, size }) => `${shape} ${size}`.trim() === title);
    const size = ofTitle[0]?.size ?? "";
    plots[fileName(`${title} latency`)] = latencyPlot(ofTitle.flatMap(({ results }) => results), size);
  }
  for (const [shape, { parameter }] of Object.entries(SWEEPS)) {
    const ofShape = results.filter((result) => result.shape === shape);
    if (ofShape.length > 0) Object.assign(plots, sweepPlots(shape, parameter, ofShape));
  }
  for (const result of results.filter(({ memory }) => memory)) {
    plots[fileName(`${result.shape} ${result.implementation} ${result.round} memory`)] = memoryPlot(result);
  }
  return plots;
}

/** Draws latency and CPU time against size, with a line for each implementation. */
function sweepPlots(shape: string, parameter: string, results: Report["results"]): Record<string, string> {
  const rows = combine(results);
  const lines = (name: string, value: (row: Row) => number | undefined) =>
    distinct(rows.map(({ implementation }) => implementation)).map((implementation) => ({
      name: `${name}, ${implementation}`,
      points: rows.filter((row) => row.implementation === implementation)
        .map((row): [number, number] => [row.parameters[parameter] ?? 0, value(row) ?? 0]),
    }));
  return {
    [fileName(`${shape} latency`)]: costPlot({
      title: `${shape}: time until Ready`,
      xName: parameter,
      yName: "ms",
      series: [...lines("p50", ({ p50 }) => p50), ...lines("p99", ({ p99 }) => p99)],
    }),
    [fileName(`${shape} cost`)]: costPlot({
      title: `${shape}: processor time of hookbox for each object`,
      xName: parameter,
      yName: "CPU ms",
      series: lines("CPU", (row) => costOf(row).cpu),
    }),
  };
}

function fileName(title: string): string {
  return title.replaceAll(/[^a-z0-9.]+/gi, "-");
}
