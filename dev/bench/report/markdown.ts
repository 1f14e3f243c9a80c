/**
 * Writes a report in Markdown, for readers who did not see the run, and one line about each run for those who watch.
 * @module
 */
import type { Report, Result } from "../result.ts";
import { compareWithGoController, describeComparison } from "./comparison.ts";
import { combine, type Cost, costOf, distinct, type RequestRate, type Row, titleOf } from "./rows.ts";
import { type Column, escapeMarkdown, formatFigure, table } from "./table.ts";

/** A line of the overview: a row, or the ratio of two rows. */
interface Line extends Cost, Pick<Row, "perSecond" | "p50" | "p95" | "p99"> {
  shape: string;
  implementation: string;
  ready: string;
  violations: string;
  isRatio: boolean;
}

/** Kinds of requests with fewer than this for each object are combined into one row. */
const RARE = 0.01;

type RequestKind = Omit<RequestRate, "perObject">;

/**
 * Writes the whole report: the comparison of hookbox with the Go controller, an overview, each shape in detail, and
 * violations.
 */
export function renderMarkdown(report: Report): string {
  const rows = combine(report.results);
  const shapes = distinct(rows.map(({ shape }) => shape));
  const parts = [
    headingOf(report),
    ...(report.peer === undefined ? [] : [describeComparison(compareWithGoController(report.results, report.peer))]),
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

const OVERVIEW: Column<Line>[] = [
  { head: "shape", cell: ({ shape }) => shape, isText: true },
  { head: "implementation", cell: ({ implementation }) => implementation, isText: true },
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
  return (line: Line) => line.isRatio && line[key] === undefined ? "" : formatFigure(line[key]);
}

function overviewOf(rows: readonly Row[], goController: string | undefined): string {
  const lines = distinct(rows.map(titleOf)).flatMap((title) => {
    const [first, ...others] = rows.filter((row) => titleOf(row) === title).map(lineOf);
    return first
      ? [
        first,
        ...others.flatMap((line) => line.implementation === goController ? [line] : [line, ratioOf(first, line)]),
      ]
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
    "answers) and the keeper together, or of the Go controller. Memory is the maximum.",
    ...(rounds > 1
      ? [
        `Up to ${rounds} rounds: percentiles are of all rounds together, per second is the median of the rounds, and ` +
        "what an object cost is the mean.",
      ]
      : []),
    ...(lines.some(({ isRatio }) => isRatio)
      ? ["The figures in a line with ÷ are ratios: less than 1 is better, except for per second."]
      : []),
    ...(names === ""
      ? []
      : [`The API server does not report the senders of requests (${names}): writes and reads include the load's.`]),
  ];
}

function violationsOf(rows: readonly Row[]): string {
  const items = rows.flatMap((row) => row.violations.map((text) => `${titleOf(row)}, ${row.implementation}: ${text}`));
  const none = "There were none: no run violated an invariant.\n";
  return `## Violations\n\n${items.map((item) => `- ${escapeMarkdown(item)}\n`).join("") || none}`;
}

/** Returns the result of one run: `300 of 300 Ready, 19.8 a second, p50 121 ms, p99 402 ms, own CPU 31.2 ms each`. */
export function describeTurn(result: Result): string {
  const [row] = combine([result]);
  if (!row) return "";
  const { violations, ready, asked, perSecond, p50, p99 } = row;
  const parts = [
    `${ready} of ${asked} Ready`,
    `${formatFigure(perSecond)} a second`,
    `p50 ${formatFigure(p50)} ms`,
    `p99 ${formatFigure(p99)} ms`,
    `own CPU ${formatFigure(costOf(row).cpu)} ms each`,
    ...(violations.length > 0 ? [`violations: ${violations.length}`] : []),
  ];
  return parts.join(", ");
}

/** Writes the section of a shape from its rows for all sizes and implementations. */
function describeShape(rows: readonly Row[]): string {
  const parts = [
    `## ${escapeMarkdown(rows[0]?.shape ?? "")}\n`,
    `${parametersOf(rows)}\n`,
    ...captioned("Figures:", figuresTable(rows)),
    ...captioned("Requests to the API server for each object asked for:", requestsTable(rows)),
    ...captioned("Processes, in one round:", processesTable(rows)),
    ...captioned("Hooks:", hooksTable(rows)),
  ];
  return parts.join("\n");
}

function captioned(caption: string, text: string): string[] {
  return text === "" ? [] : [`${caption}\n`, text];
}

/** Lists the parameters that all sizes have in common. */
function parametersOf(rows: readonly Row[]): string {
  const [first, ...others] = rows;
  const shared = Object.entries(first?.parameters ?? {}).filter(([name, value]) =>
    others.every(({ parameters }) => parameters[name] === value)
  );
  const text = shared.map(([name, value]) => `${name} ${value}`).join(", ");
  return escapeMarkdown(`Parameters: ${text || "none"}.`);
}

/** Returns the name of a run among the runs of its shape. */
function runName({ size, implementation }: Row): string {
  return size === "" ? implementation : `${size}, ${implementation}`;
}

function figuresTable(rows: readonly Row[]): string {
  const names = distinct(rows.flatMap(({ figures }) => Object.keys(figures)));
  const columns = rows.map((row): Column<string> => ({
    head: runName(row),
    cell: (name) => formatFigure(row.figures[name]),
  }));
  return names.length === 0 ? "" : table(names, [{ head: "figure", cell: (name) => name, isText: true }, ...columns]);
}

/**
 * One column for each run. Clients, and the requests of each client, are in the order in which they first occur, the
 * most frequent first.
 */
function requestsTable(rows: readonly Row[]): string {
  const all = rows.flatMap(({ requests }) => requests);
  const clients = distinct(all.map(({ client }) => client));
  const kinds: RequestKind[] = clients.flatMap((client) => {
    const frequent = all.filter((request) => request.client === client && request.perObject >= RARE);
    const keys = frequent.map(({ verb, resource }) => `${verb} ${resource}`);
    return frequent.filter((_, index) => keys.indexOf(keys[index] ?? "") === index);
  });
  if (all.length === 0) return "";
  const listed = (request: RequestKind) => kinds.some((kind) => isSame(kind, request));
  const rest: RequestKind = { client: "rarer ones", verb: "", resource: "" };
  const rate = ({ requests }: Row, kind: RequestKind) => {
    const found = requests.filter((request) => kind === rest ? !listed(request) : isSame(kind, request));
    return found.reduce((sum, { perObject }) => sum + perObject, 0);
  };
  return table(all.every(listed) ? kinds : [...kinds, rest], [
    { head: "client", cell: ({ client }) => client ?? "not known", isText: true },
    { head: "verb", cell: ({ verb }) => verb, isText: true },
    { head: "resource", cell: ({ resource }) => resource, isText: true },
    ...rows.map((row) => ({ head: runName(row), cell: (kind: RequestKind) => perObject(rate(row, kind)) })),
  ]);
}

function isSame(a: RequestKind, b: RequestKind): boolean {
  return a.client === b.client && a.verb === b.verb && a.resource === b.resource;
}

function perObject(rate: number): string {
  return rate === 0 ? "0" : rate.toFixed(2);
}

function processesTable(rows: readonly Row[]): string {
  return byRun(rows, ({ processes }) => processes, ({ name }) => name, [
    { head: "process", cell: ({ name }) => name, isText: true },
    { head: "CPU s", cell: ({ cpuSeconds }) => formatFigure(cpuSeconds) },
    { head: "MiB at the end", cell: ({ rssMiB }) => formatFigure(rssMiB) },
    { head: "MiB at most", cell: ({ peakMiB }) => formatFigure(peakMiB) },
  ]);
}

function hooksTable(rows: readonly Row[]): string {
  return byRun(rows, ({ hooks }) => hooks, ({ hook }) => hook, [
    { head: "hook", cell: ({ hook }) => hook, isText: true },
    { head: "calls per object", cell: ({ callsPerObject }) => perObject(callsPerObject) },
    { head: "request KB per call", cell: ({ requestKBPerCall }) => formatFigure(requestKBPerCall) },
    { head: "response KB per call", cell: ({ responseKBPerCall }) => formatFigure(responseKBPerCall) },
    { head: "ms per call", cell: ({ msPerCall }) => formatFigure(msPerCall) },
  ]);
}

/**
 * Groups items of the same name from several runs, and writes the name once. If there is only one run, its name is left
 * out.
 */
function byRun<Item>(
  rows: readonly Row[],
  itemsOf: (row: Row) => Item[],
  nameOf: (item: Item) => string,
  [first, ...others]: [Column<Item>, ...Column<Item>[]],
): string {
  const all = rows.flatMap((row) => itemsOf(row).map((item) => ({ run: runName(row), item })));
  type Entry = (typeof all)[number] & { isFirst: boolean };
  const entries = distinct(all.map(({ item }) => nameOf(item))).flatMap((name) =>
    all.filter(({ item }) => nameOf(item) === name).map((entry, index) => ({ ...entry, isFirst: index === 0 }))
  );
  const columns: Column<Entry>[] = [
    { ...first, cell: ({ item, isFirst }) => isFirst ? first.cell(item) : "" },
    ...(rows.length > 1 ? [{ head: "run", cell: ({ run }: Entry) => run, isText: true }] : []),
    ...others.map((column) => ({ ...column, cell: ({ item }: Entry) => column.cell(item) })),
  ];
  return entries.length === 0 ? "" : table(entries, columns);
}
