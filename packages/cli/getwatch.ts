/** Shows objects and each of their changes, until the command is interrupted. @module */
import { pathOf } from "../kube/api.ts";
import { type EventHandler, listAndWatch } from "../kube/watch.ts";
import { createLog } from "../process/log.ts";
import type { KubeObject } from "../api/objects/objects.ts";
import { createTable, type GetRequest } from "./get.ts";
import { serialize } from "./output/print.ts";
import type { Cluster, CommandContext } from "./commandcontext.ts";

/** Shows a row or document for each change. Never returns; throws the reason of the context's signal. */
export async function watchObjects(
  context: CommandContext,
  { api, namespace }: Cluster,
  request: GetRequest,
): Promise<void> {
  const { kind, allNamespaces, selector, names } = request;
  const print = createPrinter(context, request);
  // Objects of the initial list are printed together, so that their columns are aligned.
  let listed: KubeObject[] | undefined = [];
  let work = Promise.resolve();
  const show = (objects: KubeObject[]) => work = work.then(() => print(objects));
  const handler: EventHandler<KubeObject> = {
    observe: (object) => void (listed ? listed.push(object) : show([object])),
    gone: () => {},
    listed: () => {
      if (listed) show(listed);
      listed = undefined;
    },
  };
  const isWanted = ({ metadata }: KubeObject) => names.length === 0 || names.includes(metadata.name);
  const filtered: EventHandler<KubeObject> = {
    ...handler,
    observe: (object) => isWanted(object) && handler.observe(object),
  };
  const collection = {
    path: pathOf({ resource: kind.resource, namespace: allNamespaces ? undefined : namespace }),
    ...selector === undefined ? {} : { query: { labelSelector: selector } },
    parse: (object: unknown) => ({ ...object as KubeObject, kind: kind.kind }),
  };
  const log = createLog("warn", (line) => context.stderr.write(`${messageOf(line)}\n`));
  await listAndWatch(api, collection, filtered, { log, signal: context.signal });
  await work;
  context.signal.throwIfAborted();
}

function createPrinter(context: CommandContext, request: GetRequest): (objects: KubeObject[]) => Promise<void> {
  const { format, kind } = request;
  const table = createTable(request);
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

/** Returns the message of a log line, without its JSON. */
function messageOf(line: string): string {
  const { message, error } = JSON.parse(line) as { message: string; error?: string };
  return error === undefined ? message : `${message}: ${error}`;
}
