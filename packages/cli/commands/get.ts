/** `hookbox get`: lists sandboxes, claims, pools and templates. @module */
import type { Command } from "commander";
import type { KubeObject } from "../../api/objects/objects.ts";
import { pathOf } from "../../kube/api.ts";
import { type EventHandler, listAndWatch } from "../../kube/watch.ts";
import { createLog } from "../../process/log.ts";
import { columnsOf } from "../../summary/columns.ts";
import { CLAIM, findKind, type Kind, KINDS, SANDBOX } from "../../summary/kinds.ts";
import { getObject, listObjects } from "../cluster.ts";
import type { Cluster, CommandContext, ConnectionOptions } from "../commandcontext.ts";
import { UsageError } from "../failure.ts";
import { optionsOf, withAllNamespaces, withCluster } from "../options.ts";
import { type Format, formatOf, renderTable, serialize, widthsOf } from "../output.ts";

interface GetOptions {
  output?: string;
  selector?: string;
  watch?: boolean;
  headers: boolean;
}

const MORE = `
Kinds: sandboxes (the default), claims, pools, templates; or their short names sbx, sbxc, swp, sbxt.

Examples:
  hookbox get                      the sandboxes of this namespace
  hookbox get claims -A -o wide    claims of all namespaces, with pool, address and expiry
  hookbox get pool/python -w       one pool, and each of its changes`;

export function defineGet(command: Command, context: CommandContext): void {
  command
    .argument("[kind]", "kind, or kind/name")
    .argument("[names...]", "names (default: all)")
    .option("-o, --output <format>", "json, yaml, name or wide")
    .option("-l, --selector <labels>", "only objects with these labels")
    .option("-w, --watch", "keep running, and show each change")
    .option("--no-headers", "do not print the headers")
    .addHelpText("after", MORE);
  withAllNamespaces(command).action(async (kindOrName: string | undefined, names: string[]) => {
    const options = optionsOf<GetOptions>(command);
    const { kind, names: requested } = parseKindAndNames(kindOrName, names);
    const format = formatOf(options.output);
    if (requested.length > 0 && options.allNamespaces) {
      throw new UsageError("Cannot get by name in all namespaces: leave out the name or -A");
    }
    const { output: _, headers, watch = false, allNamespaces = false, ...rest } = options;
    await runGet(context, { ...rest, kind, names: requested, format, headers, watch, allNamespaces });
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

/** What to show, and in which format. */
interface GetRequest extends ConnectionOptions {
  kind: Kind;
  /** Empty: all objects. */
  names: string[];
  allNamespaces: boolean;
  selector?: string;
  /** Undefined: a table. */
  format: Format | undefined;
  headers: boolean;
  watch: boolean;
}

/** Prints the objects, or watches them. @throws {SandboxError} if a named object does not exist */
async function runGet(context: CommandContext, request: GetRequest): Promise<void> {
  const cluster = await context.connectCluster(request);
  if (request.watch) {
    return await watchObjects(context, cluster, request);
  }
  const objects = await readObjects(cluster, request);
  if (objects.length === 0 && request.format !== "json" && request.format !== "yaml") {
    const where = request.allNamespaces ? "" : ` in ${cluster.namespace} namespace`;
    return context.stderr.write(`No ${request.kind.names[0]} found${where}.\n`);
  }
  context.stdout.write(await renderObjects(objects, request, context.now()));
}

async function readObjects({ api, namespace }: Cluster, request: GetRequest): Promise<KubeObject[]> {
  const { kind, names, allNamespaces, selector } = request;
  if (names.length > 0) return await Promise.all(names.map((name) => getObject(api, kind, namespace, name)));
  return await listObjects(api, kind, { namespace: allNamespaces ? undefined : namespace, labelSelector: selector });
}

async function renderObjects(objects: KubeObject[], request: GetRequest, now: Date): Promise<string> {
  const { kind, format } = request;
  if (format === "name") return objects.map(({ metadata }) => `${kind.qualified}/${metadata.name}\n`).join("");
  if (format === "json" || format === "yaml") {
    const [only] = objects;
    const list = { apiVersion: "v1", kind: "List", metadata: { resourceVersion: "" }, items: objects };
    return await serialize(request.names.length === 1 ? only : list, format);
  }
  const table = createObjectTable(request);
  return table.render(objects, now);
}

/** Creates a table to which rows can be added; later rows keep the column widths of the first ones. */
function createObjectTable({ kind, format, allNamespaces, headers }: GetRequest) {
  const columns = columnsOf(kind, { isWide: format === "wide", allNamespaces });
  let widths: number[] | undefined;
  return {
    render(objects: readonly KubeObject[], now: Date): string {
      const rows = objects.map((object) => columns.map(({ cell }) => cell(object, now)));
      const header = headers && widths === undefined ? columns.map(({ header }) => header) : undefined;
      widths = widthsOf(header ? [header, ...rows] : rows, widths);
      return renderTable(header, rows, widths);
    },
  };
}

/**
 * Prints all objects, then a row or document for each change. Runs until the context's signal is aborted, then throws
 * the signal's reason.
 */
async function watchObjects(
  context: CommandContext,
  { api, namespace }: Cluster,
  request: GetRequest,
): Promise<void> {
  const { kind, allNamespaces, selector, names } = request;
  const print = createPrinter(context, request);
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

function createPrinter(context: CommandContext, request: GetRequest): (objects: KubeObject[]) => Promise<void> {
  const { format, kind } = request;
  const table = createObjectTable(request);
  return async (objects) => {
    if (format === "name") {
      for (const { metadata } of objects) context.stdout.write(`${kind.qualified}/${metadata.name}\n`);
    } else if (format === "json") {
      for (const object of objects) {
        context.stdout.write(await serialize(object, "json"));
      }
    } else if (format === "yaml") {
      for (const object of objects) context.stdout.write(`---\n${await serialize(object, "yaml")}`);
    } else if (objects.length > 0) context.stdout.write(table.render(objects, context.now()));
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
