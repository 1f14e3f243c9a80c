/** Writes a report in Markdown, for readers who did not see the run. @module */
import type { Report } from "../result.ts";
import { combine, type Row } from "./combine.ts";
import { compareWithPeer, describeComparison } from "./comparison.ts";
import { type Cost, costOf } from "./cost.ts";
import { describeShape, titleOf } from "./details.ts";
import { distinct } from "./runs.ts";
import { type Column, escapeMarkdown, figure, table } from "./table.ts";

/**
 * Writes the whole report: the comparison of hookbox with the Go controller, an overview, each shape in detail, and
 * violations.
 */
export function renderMarkdown(report: Report): string {
  const rows = combine(report.results);
  const shapes = distinct(rows.map(({ shape }) => shape));
  const parts = [
    headingOf(report),
    ...(report.peer === undefined ? [] : [describeComparison(compareWithPeer(report.results, report.peer))]),
    overviewOf(rows, report.peer),
    ...shapes.map((shape) => describeShape(rows.filter((row) => row.shape === shape))),
    violationsOf(rows),
  ];
  return parts.join("\n");
}

function headingOf({ time, machine, engine }: Report): string {
  const at = new Date(time).toISOString().slice(0, 16).replace("T", " ");
  const { cores, memoryMiB, system } = machine;
  const on = `${system}, ${cores} ${cores === 1 ? "core" : "cores"}, ${Math.round(memoryMiB / 1024)} GiB`;
  return `# Bench: ${escapeMarkdown(on)}; ${escapeMarkdown(engine ?? "engine not known")}; ${at} UTC\n`;
}

/** A line of the overview: a row, or the ratio of two rows. */
interface Line extends Cost, Pick<Row, "perSecond" | "p50" | "p95" | "p99"> {
  shape: string;
  implementation: string;
  ready: string;
  violations: string;
  isRatio: boolean;
}

const OVERVIEW: Column<Line>[] = [
  { head: "shape", cell: ({ shape }) => shape, words: true },
  { head: "implementation", cell: ({ implementation }) => implementation, words: true },
  { head: "ready/asked", cell: ({ ready }) => ready },
  { head: "per second", cell: numberIn("perSecond") },
  { head: "p50 ms", cell: numberIn("p50") },
  { head: "p95 ms", cell: numberIn("p95") },
  { head: "p99 ms", cell: numberIn("p99") },
  { head: "writes per object", cell: numberIn("writes") },
  { head: "reads per object", cell: numberIn("reads") },
  { head: "CPU ms per object", cell: numberIn("cpu") },
  { head: "memory MiB", cell: numberIn("memory") },
  { head: "violations", cell: ({ violations }) => violations },
];

function numberIn(key: keyof Cost | "perSecond" | "p50" | "p95" | "p99") {
  return (line: Line) => line.isRatio && line[key] === undefined ? "" : figure(line[key]);
}

function overviewOf(rows: readonly Row[], peer: string | undefined): string {
  const lines = distinct(rows.map(titleOf)).flatMap((title) => {
    const [first, ...others] = rows.filter((row) => titleOf(row) === title).map(lineOf);
    return first
      ? [first, ...others.flatMap((line) => line.implementation === peer ? [line] : [line, ratioOf(first, line)])]
      : [];
  });
  return `${table(lines, OVERVIEW)}\n${notesOn(rows, lines).map((note) => `- ${note}\n`).join("")}`;
}

function lineOf(row: Row): Line {
  const { implementation, perSecond, p50, p95, p99 } = row;
  const times = { perSecond, p50, p95, p99 };
  const ready = [row.ready, row.asked].map((count) => count.toLocaleString("en-GB")).join("/");
  const violations = String(row.violations.length);
  return { shape: titleOf(row), implementation, ready, violations, isRatio: false, ...times, ...costOf(row) };
}

function ratioOf(one: Line, other: Line): Line {
  const by = (key: "perSecond" | "p50" | "p99" | "writes" | "cpu") => {
    const [value, base] = [one[key], other[key]];
    return value === undefined || !base ? undefined : value / base;
  };
  const implementation = `${one.implementation} ÷ ${other.implementation}`;
  const words = { shape: one.shape, implementation, ready: "", violations: "", isRatio: true, clusterCPU: undefined };
  const times = { perSecond: by("perSecond"), p50: by("p50"), p95: undefined, p99: by("p99") };
  return { ...words, ...times, writes: by("writes"), reads: undefined, cpu: by("cpu"), memory: undefined };
}

function notesOn(rows: readonly Row[], lines: readonly Line[]): string[] {
  const rounds = Math.max(...rows.map((row) => row.rounds));
  const blind = rows.filter(({ requests }) => requests.some(({ client }) => client === undefined));
  const names = distinct(blind.map(({ implementation }) => escapeMarkdown(implementation))).join(", ");
  return [
    "Times run from the moment at which a request was due to the watch event that shows its object Ready.",
    "Writes (create, update, patch, delete) and reads (get, list, watch) are requests to the API server for each " +
    "object asked for, without those of the load, kube-scheduler, kube-controller-manager and the nodes.",
    "CPU time is for each object asked for. CPU and memory are those of the hooks, Metacontroller (it applies their " +
    "answers) and the keeper together, or the peer's; of memory it is the most that was seen.",
    ...(rounds > 1
      ? [
        `Up to ${rounds} rounds: percentiles are of all rounds together, per second is the median of the rounds, and ` +
        "what an object cost is the mean.",
      ]
      : []),
    ...(lines.some(({ isRatio }) => isRatio)
      ? ["In a line with ÷, the one is divided by the other: less than 1 is better, but for per second."]
      : []),
    ...(names === ""
      ? []
      : [`The API server does not tell who asked (${names}): writes and reads there are everyone's, the load's too.`]),
  ];
}

function violationsOf(rows: readonly Row[]): string {
  const items = rows.flatMap((row) => row.violations.map((text) => `${titleOf(row)}, ${row.implementation}: ${text}`));
  const none = "There were none: nothing was seen that must never happen.\n";
  return `## Violations\n\n${items.map((item) => `- ${escapeMarkdown(item)}\n`).join("") || none}`;
}
