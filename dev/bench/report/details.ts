/** Describes one shape in detail: requests, processes and hooks of each of its runs. @module */
import type { RequestRate, Row } from "./combine.ts";
import { distinct } from "./runs.ts";
import { type Column, escapeMarkdown, figure, table } from "./table.ts";

/** Kinds of requests with fewer than this for each object are combined into one row. */
const RARE = 0.01;

/** Returns the title of a shape, with its size if it has several: `by-members, replicas 30`. */
export function titleOf({ shape, size }: Pick<Row, "shape" | "size">): string {
  return size === "" ? shape : `${shape}, ${size}`;
}

/** Writes the section of a shape from its rows for all sizes and implementations. */
export function describeShape(rows: readonly Row[]): string {
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
    cell: (name) => figure(row.figures[name]),
  }));
  return names.length === 0 ? "" : table(names, [{ head: "figure", cell: (name) => name, words: true }, ...columns]);
}

type RequestKind = Omit<RequestRate, "perObject">;

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
    { head: "client", cell: ({ client }) => client ?? "not known", words: true },
    { head: "verb", cell: ({ verb }) => verb, words: true },
    { head: "resource", cell: ({ resource }) => resource, words: true },
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
    { head: "process", cell: ({ name }) => name, words: true },
    { head: "CPU s", cell: ({ cpuSeconds }) => figure(cpuSeconds) },
    { head: "MiB at the end", cell: ({ rssMiB }) => figure(rssMiB) },
    { head: "MiB at most", cell: ({ peakMiB }) => figure(peakMiB) },
  ]);
}

function hooksTable(rows: readonly Row[]): string {
  return byRun(rows, ({ hooks }) => hooks, ({ hook }) => hook, [
    { head: "hook", cell: ({ hook }) => hook, words: true },
    { head: "calls per object", cell: ({ callsPerObject }) => perObject(callsPerObject) },
    { head: "request KB per call", cell: ({ requestKBPerCall }) => figure(requestKBPerCall) },
    { head: "response KB per call", cell: ({ responseKBPerCall }) => figure(responseKBPerCall) },
    { head: "ms per call", cell: ({ msPerCall }) => figure(msPerCall) },
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
    ...(rows.length > 1 ? [{ head: "run", cell: ({ run }: Entry) => run, words: true }] : []),
    ...others.map((column) => ({ ...column, cell: ({ item }: Entry) => column.cell(item) })),
  ];
  return entries.length === 0 ? "" : table(entries, columns);
}
