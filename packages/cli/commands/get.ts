/** `hookbox get`: lists sandboxes, claims, pools and templates. @module */
import type { Command } from "commander";
import type { KubeObject } from "../../api/objects/objects.ts";
import { pathOf } from "../../kube/api.ts";
import { type EventHandler, listAndWatch } from "../../kube/watch.ts";
import { createLog } from "../../process/log.ts";
import { shutdownTimeOf } from "../../sdk/control/readiness.ts";
import { type Around, columnsOf, statusOf } from "../../summary/columns.ts";
import { CLAIM, findKind, type Kind, KINDS, SANDBOX, TEMPLATE } from "../../summary/kinds.ts";
import type { Tone } from "../../summary/status.ts";
import { getObject, listObjects, readAround } from "../cluster.ts";
import type { Cluster, CommandContext, ConnectionOptions } from "../commandcontext.ts";
import { UsageError } from "../failure.ts";
import type { CustomColumn } from "../jsonpath.ts";
import { optionsOf, withAllNamespaces, withCluster } from "../options.ts";
import { type Format, formatOf, renderTable, serialize, widthsOf } from "../output.ts";
import { createPaint, drawn } from "../terminal.ts";

interface GetOptions {
  output?: string;
  selector?: string;
  watch?: boolean;
  headers: boolean;
  sortBy?: string;
  showLabels?: boolean;
}

const MORE = `
Kinds: sandboxes (the default), claims, pools, templates; or their short names sbx, sbxc, swp, sbxt.

STATUS says the same as "hookbox why", in the words of kubectl. -o wide adds a sentence about it. With the right to get
Pods, it shows restarts and exit codes.

-o json and -o yaml print the objects as the API server has them. For a STATUS in JSON, use "hookbox describe -o json".

Examples:
  hookbox get                                        the sandboxes of this namespace
  hookbox get claims -A -o wide                      claims of all namespaces, with pool, address and expiry
  hookbox get --sort-by status                       problems first
  hookbox get pool/python -w                         one pool, and each of its changes
  hookbox get claims -o jsonpath='{.items[*].metadata.name}'
  hookbox get -o custom-columns=NAME:.metadata.name,NODE:.status.nodeName`;

export function defineGet(command: Command, context: CommandContext): void {
  command
    .argument("[kind]", "kind, or kind/name")
    .argument("[names...]", "names (default: all)")
    .option("-o, --output <format>", "json, yaml, name, wide, jsonpath=TEMPLATE or custom-columns=HEADER:PATH,…")
    .option("-l, --selector <labels>", "only objects with these labels")
    .option("-w, --watch", "keep running, and show each change")
    .option("--sort-by <column>", "a column such as age or status, or a JSONPath such as .metadata.name")
    .option("--show-labels", "show the labels in the last column")
    .option("--no-headers", "do not print the headers")
    .addHelpText("after", MORE);
  withAllNamespaces(command).action(async (kindOrName: string | undefined, names: string[]) => {
    const options = optionsOf<GetOptions>(command);
    const { kind, names: requested } = parseKindAndNames(kindOrName, names);
    const shape = await parseShape(options.output);
    if (requested.length > 0 && options.allNamespaces) {
      throw new UsageError("Cannot get by name in all namespaces: leave out the name or -A");
    }
    const { output: _, sortBy, headers, watch = false, allNamespaces = false, showLabels = false, ...rest } = options;
    const columns = columnsFor(kind, shape, { allNamespaces, showLabels });
    const order = sortBy === undefined ? undefined : await orderBy(sortBy, kind, columns);
    await runGet(context, { ...rest, kind, names: requested, shape, columns, order, headers, watch, allNamespaces });
  });
  withCluster(command);
}

/** Parses the arguments `kind`, `kind name…` and `kind/name…`. If there are none, the kind is Sandbox. */
function parseKindAndNames(first: string | undefined, names: string[]): { kind: Kind; names: string[] } {
  if (first === undefined) return { kind: SANDBOX, names };
  const parts = [first, ...names].map((text) => text.split("/"));
  if (parts.every(([, name]) => name !== undefined)) {
    const kinds = new Set(parts.map(([kind = ""]) => parseKind(kind)));
    const [kind = CLAIM] = kinds;
    if (kinds.size > 1) throw new UsageError("Cannot get several kinds at once: use one command for each");
    return { kind, names: parts.map(([, name = ""]) => name) };
  }
  return { kind: parseKind(first), names };
}

/** How to print objects: `format`, or a template or columns of the user's. */
interface Shape {
  /** Undefined: a table. */
  format?: Format | undefined;
  template?: (value: unknown) => string;
  custom?: CustomColumn[];
}

/** Parses `-o`. @throws {UsageError} */
async function parseShape(text: string | undefined): Promise<Shape> {
  const [, name, value = ""] = /^(jsonpath|custom-columns)(?:=(.*))?$/s.exec(text ?? "") ?? [];
  if (name === undefined) return { format: formatOf(text, undefined, "jsonpath=…, custom-columns=…") };
  const { compileColumns, compileTemplate } = await import("../jsonpath.ts");
  if (name === "jsonpath" && value !== "") return { template: compileTemplate(value) };
  if (name === "custom-columns" && value !== "") return { custom: compileColumns(value) };
  const example = name === "jsonpath" ? "'{.items[*].metadata.name}'" : "NAME:.metadata.name";
  throw new UsageError(`Cannot print as "${text}": it needs a value, such as -o ${name}=${example}`);
}

/** A column of the printed table. */
interface Column {
  header: string;
  cell(object: KubeObject, now: Date, around: Around): string;
}

function columnsFor(
  kind: Kind,
  { format, custom }: Shape,
  { allNamespaces, showLabels }: { allNamespaces: boolean; showLabels: boolean },
): Column[] {
  const own: Column[] = custom
    ? custom.map(({ header, path }) => ({ header, cell: (object) => path(object).map(cellOf).join(",") || NONE }))
    : columnsOf(kind, { isWide: format === "wide", allNamespaces });
  const isDetailed = format === "wide" && kind !== TEMPLATE;
  return [...own, ...isDetailed ? [DETAIL(kind)] : [], ...showLabels && !custom ? [LABELS] : []];
}

const NONE = "<none>";
const cellOf = (value: unknown) => typeof value === "string" ? value : JSON.stringify(value);

const DETAIL = ({ kind }: Kind): Column => ({
  header: "DETAIL",
  cell: (object, now, around) => statusOf(kind, object, now, around)?.detail?.trim().replace(/\s*\n\s*/g, "; ") ?? NONE,
});
const LABELS: Column = {
  header: "LABELS",
  cell: ({ metadata: { labels = {} } }) =>
    Object.entries(labels).map(([key, value]) => `${key}=${value}`).sort().join(",") || NONE,
};

/** What to show, and how. */
interface GetRequest extends ConnectionOptions {
  kind: Kind;
  /** Empty: all objects. */
  names: string[];
  allNamespaces: boolean;
  selector?: string;
  shape: Shape;
  columns: Column[];
  /** Undefined: by namespace and name. */
  order: Order | undefined;
  headers: boolean;
  watch: boolean;
}

/** Returns what to compare an object by: numbers by size, text by its letters and numbers. Undefined comes last. */
type Order = (object: KubeObject, now: Date, around: Around) => number | string | undefined;

const TONES: readonly Tone[] = ["bad", "progress", "good", "off"];

/** Parses `--sort-by`: a column of the table, or a JSONPath as for kubectl. @throws {UsageError} */
async function orderBy(text: string, { kind }: Kind, columns: readonly Column[]): Promise<Order> {
  if (/^[.{$]/.test(text)) {
    const path = (await import("../jsonpath.ts")).compilePath(text);
    return (object) => {
      const [value] = path(object);
      return value === undefined ? undefined : typeof value === "number" ? value : cellOf(value);
    };
  }
  const wanted = text.toUpperCase().replaceAll("-", " ");
  const column = columns.find(({ header }) => header === wanted);
  if (!column) {
    const names = columns.map(({ header }) => header.toLowerCase().replaceAll(" ", "-")).join(", ");
    throw new UsageError(`Cannot sort by "${text}": the columns are ${names}; or write a JSONPath: .metadata.name`);
  }
  if (wanted === "AGE") return ({ metadata }, now) => now.getTime() - Date.parse(metadata.creationTimestamp ?? "");
  return (object, now, around) => {
    const cell = column.cell(object, now, around);
    if (wanted === "STATUS") return `${TONES.indexOf(statusOf(kind, object, now, around)?.tone ?? "off")} ${cell}`;
    if (wanted === "EXPIRES") return Date.parse(shutdownTimeOf(object as Parameters<typeof shutdownTimeOf>[0]) ?? "");
    return cell === NONE ? undefined : cell;
  };
}

function sorted(objects: readonly KubeObject[], order: Order, now: Date, around: AroundOf): KubeObject[] {
  const collator = new Intl.Collator("en", { numeric: true });
  const isNone = (value: number | string | undefined) => value === undefined || Number.isNaN(value);
  return objects.map((object) => ({ object, value: order(object, now, around(object)) })).sort((a, b) => {
    if (isNone(a.value) || isNone(b.value)) return Number(isNone(a.value)) - Number(isNone(b.value));
    if (typeof a.value === "number" && typeof b.value === "number") return a.value - b.value;
    return collator.compare(String(a.value), String(b.value));
  }).map(({ object }) => object);
}

/** Prints the objects, or watches them. @throws {SandboxError} if a named object does not exist */
async function runGet(context: CommandContext, request: GetRequest): Promise<void> {
  const cluster = await context.connectCluster(request);
  if (request.watch) return await watchObjects(context, cluster, request);
  const { shape: { format, template } } = request;
  const objects = await readObjects(cluster, request);
  if (objects.length === 0 && format !== "json" && format !== "yaml" && !template) {
    const where = request.allNamespaces ? "" : ` in ${cluster.namespace} namespace`;
    return context.stderr.write(`No ${request.kind.names[0]} found${where}.\n`);
  }
  const now = nowOf(context, cluster);
  const around = await aroundOf(cluster, request, objects, now);
  const ordered = request.order ? sorted(objects, request.order, now, around) : objects;
  context.stdout.write(await renderObjects(context, ordered, request, now, around));
}

/** Ages count from the API server's clock, because creation times come from there. */
function nowOf(context: CommandContext, { api }: Cluster): Date {
  const time = api.now?.();
  return time === undefined ? context.now() : new Date(time);
}

type AroundOf = (object: KubeObject) => Around;

async function aroundOf(
  { api }: Cluster,
  { kind, shape: { format, template, custom }, order }: GetRequest,
  objects: readonly KubeObject[],
  now: Date,
): Promise<AroundOf> {
  const isTable = (format === undefined || format === "wide") && !template && !custom;
  if (!isTable && !order) return () => ({});
  return await readAround(api, kind.kind, objects, now);
}

async function readObjects({ api, namespace }: Cluster, request: GetRequest): Promise<KubeObject[]> {
  const { kind, names, allNamespaces, selector } = request;
  if (names.length > 0) return await Promise.all(names.map((name) => getObject(api, kind, namespace, name)));
  return await listObjects(api, kind, { namespace: allNamespaces ? undefined : namespace, labelSelector: selector });
}

async function renderObjects(
  context: CommandContext,
  objects: KubeObject[],
  request: GetRequest,
  now: Date,
  around: AroundOf,
): Promise<string | Uint8Array> {
  const { kind, shape: { format, template } } = request;
  if (format === "name") return objects.map(({ metadata }) => `${kind.qualified}/${metadata.name}\n`).join("");
  if (template || format === "json" || format === "yaml") {
    const [only] = objects;
    const list = { apiVersion: "v1", kind: "List", metadata: { resourceVersion: "" }, items: objects };
    const printed = request.names.length === 1 ? only : list;
    return template ? template(printed) : await serialize(printed, format === "yaml" ? "yaml" : "json");
  }
  return createObjectTable(context, request).render(objects, now, around);
}

const STYLES = { good: "green", progress: "yellow", bad: "red", off: "dim" } as const satisfies Record<Tone, string>;

/** Creates a table to which rows can be added; later rows keep the column widths of the first ones. */
function createObjectTable(context: CommandContext, { kind, columns, headers }: GetRequest) {
  const paint = createPaint(context.stdout, context);
  let widths: number[] | undefined;
  return {
    render(objects: readonly KubeObject[], now: Date, around: AroundOf): Uint8Array {
      const rows = objects.map((object) => columns.map(({ cell }) => cell(object, now, around(object))));
      const header = headers && widths === undefined ? columns.map(({ header }) => header) : undefined;
      widths = widthsOf(header ? [header, ...rows] : rows, widths);
      const painted = (text: string, row: number, column: number) => {
        const object = objects[row];
        if (columns[column]?.header !== "STATUS" || !object) return text;
        const tone = statusOf(kind.kind, object, now, around(object))?.tone;
        return tone === undefined ? text : paint(STYLES[tone], text);
      };
      return drawn(renderTable(header, rows, widths, painted));
    },
  };
}

/**
 * Prints all objects, then a row or document for each change. Runs until the context's signal is aborted, then throws
 * the signal's reason.
 */
async function watchObjects(
  context: CommandContext,
  cluster: Cluster,
  request: GetRequest,
): Promise<void> {
  const { api, namespace } = cluster;
  const { kind, allNamespaces, selector, names } = request;
  const print = createPrinter(context, cluster, request);
  // Objects of the initial list are printed together, so that their columns are aligned.
  let initial: KubeObject[] | undefined = [];
  let printed = Promise.resolve();
  const printNext = (objects: KubeObject[]) => printed = printed.then(() => print(objects));
  const handler: EventHandler<KubeObject> = {
    observe: (object) => void (initial ? initial.push(object) : printNext([object])),
    gone: () => {},
    listed: () => {
      if (initial) printNext(initial);
      initial = undefined;
    },
  };
  const isRequested = ({ metadata }: KubeObject) => names.length === 0 || names.includes(metadata.name);
  const filtered: EventHandler<KubeObject> = {
    ...handler,
    observe: (object) => isRequested(object) && handler.observe(object),
  };
  const collection = {
    path: pathOf({ resource: kind.resource, namespace: allNamespaces ? undefined : namespace }),
    ...selector === undefined ? {} : { query: { labelSelector: selector } },
    parse: (object: unknown) => ({ ...object as KubeObject, kind: kind.kind }),
  };
  const log = createLog("warn", (line) => context.stderr.write(`${messageOf(line)}\n`));
  await listAndWatch(api, collection, filtered, { log, signal: context.signal });
  await printed;
  context.signal.throwIfAborted();
}

function createPrinter(
  context: CommandContext,
  cluster: Cluster,
  request: GetRequest,
): (objects: KubeObject[]) => Promise<void> {
  const { shape: { format, template }, kind, order } = request;
  const table = createObjectTable(context, request);
  return async (objects) => {
    if (format === "name") {
      for (const { metadata } of objects) context.stdout.write(`${kind.qualified}/${metadata.name}\n`);
    } else if (template) {
      for (const object of objects) context.stdout.write(template(object));
    } else if (format === "json") {
      for (const object of objects) context.stdout.write(await serialize(object, "json"));
    } else if (format === "yaml") {
      for (const object of objects) context.stdout.write(`---\n${await serialize(object, "yaml")}`);
    } else if (objects.length > 0) {
      const now = nowOf(context, cluster);
      const around = await aroundOf(cluster, request, objects, now);
      context.stdout.write(table.render(order ? sorted(objects, order, now, around) : objects, now, around));
    }
  };
}

/** Returns the message and the error of a log line in JSON. */
function messageOf(line: string): string {
  const { message, error } = JSON.parse(line) as { message: string; error?: string };
  return error === undefined ? message : `${message}: ${error}`;
}

/** Finds a kind by any of its names, such as `sandboxes` or `sbx`. @throws {UsageError} if no kind has this name */
export function parseKind(name: string): Kind {
  const kind = findKind(name);
  if (kind) return kind;
  throw new UsageError(`Cannot get "${name}": the kinds are ${KINDS.map(({ names }) => names[0]).join(", ")}`);
}
