/** Shows objects in a table or as JSON or YAML, once or whenever they change. @module */
import type { KubeObject } from "../api/objects/objects.ts";
import type { Kind } from "../summary/kinds.ts";
import { getObject, listObjects } from "./cluster/objects.ts";
import { columnsOf } from "../summary/columns.ts";
import { type Format, serialize } from "./output/print.ts";
import { renderTable, widthsOf } from "./output/table.ts";
import type { Cluster, CommandContext, Where } from "./commandcontext.ts";

/** What to show, and in which format. */
export interface GetRequest extends Where {
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

/** Shows the objects. @throws {SandboxError} if a named object does not exist */
export async function runGet(context: CommandContext, request: GetRequest): Promise<void> {
  const cluster = await context.reach(request);
  if (request.watch) {
    const { watchObjects } = await import("./getwatch.ts");
    return await watchObjects(context, cluster, request);
  }
  const objects = await readObjects(cluster, request);
  if (objects.length === 0 && request.format !== "json" && request.format !== "yaml") {
    const place = request.allNamespaces ? "" : ` in ${cluster.namespace} namespace`;
    return context.stderr.write(`No ${request.kind.words[0]} found${place}.\n`);
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
  const table = createTable(request);
  return table.render(objects, now);
}

/** Creates a table to which rows can be added; later rows keep the column widths of the first ones. */
export function createTable({ kind, format, allNamespaces, headers }: GetRequest) {
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
