/** Two runs to compare, and what takes the tables of a report apart. @module */
import { renderMarkdown } from "../../../../dev/bench/report/markdown.ts";
import type { Report, Result } from "../../../../dev/bench/result.ts";
import { aReport, aRequest, aResult, frozen } from "./results.ts";

const PROCESSES = [
  { name: "engine", cpuSeconds: 0.5, rssMiB: 60, peakMiB: 70.5 },
  { name: "kube-apiserver", cpuSeconds: 4, rssMiB: 800, peakMiB: 900 },
];
const HOOK = { hook: "sandbox/sync", calls: 3, requestBytes: 6000, responseBytes: 1500, seconds: 0.006 };
/** Two objects, what was asked for them, and who used what. */
export const FULL: Partial<Result> = {
  requests: [aRequest({ count: 4 }), aRequest({ verb: "get" }), aRequest({ client: "load", verb: "create", count: 2 })],
  processes: PROCESSES,
  hooks: [HOOK],
};
/** The other implementation: half as fast. */
export const SLOWER: Partial<Result> = {
  ...FULL,
  implementation: "against",
  samples: [{ at: 0, ms: 200 }, { at: 1400, ms: 600 }],
  requests: [aRequest({ count: 5 }), aRequest({ client: "keeper", verb: "list", count: 1 })],
  processes: PROCESSES.map((use) => ({ ...use, cpuSeconds: use.cpuSeconds * 4 })),
};

/** Renders results, and takes the tables apart: rows of cells, without the rule. */
export function tablesOf(...results: Partial<Result>[]): string[][][] {
  return tablesIn(aReport(results.map(aResult)));
}

/** Takes the tables of a report apart. */
export function tablesIn(report: Report): string[][][] {
  const blocks = renderMarkdown(frozen(report)).split("\n\n");
  return blocks.filter((block) => block.startsWith("| ")).map((block) =>
    block.trim().split("\n").filter((_, index) => index !== 1).map((line) =>
      line.slice(2, -2).split(" | ").map((cell) => cell.trim())
    )
  );
}

/** The table whose first column has this head. */
export function tableOf(tables: string[][][], head: string): string[][] {
  return tables.find(([heads]) => heads?.[0] === head) ?? [];
}
