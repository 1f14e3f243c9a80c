/** `hookbox events`: lists the Events about sandboxes, claims, pools and templates. @module */
import type { Command } from "commander";
import type { KubeObject } from "../../api/objects/objects.ts";
import { type Api, pathOf } from "../../kube/api.ts";
import { listAndWatch } from "../../kube/watch.ts";
import { createLog } from "../../process/log.ts";
import { lastSeen } from "../../sdk/control/factreader.ts";
import { find } from "../../sdk/control/find.ts";
import { callAPI } from "../../sdk/control/kube.ts";
import { sandboxNameOf } from "../../sdk/control/readiness.ts";
import { ageOf } from "../../summary/age.ts";
import { findKind, KINDS, SANDBOX } from "../../summary/kinds.ts";
import { listObjects } from "../cluster.ts";
import type { CommandContext } from "../commandcontext.ts";
import { UsageError } from "../failure.ts";
import { optionsOf, withAllNamespaces, withCluster } from "../options.ts";
import { formatOf, renderTable, serialize, widthsOf } from "../output.ts";
import { createPaint, drawn, oneLine } from "../terminal.ts";

interface EventsOptions {
  output?: string;
  types?: string;
  watch?: boolean;
}

const MORE = `
Without a name: Events about sandboxes, claims, pools and templates, and about Pods and volumes of sandboxes. With the
name of a claim: those about the claim, its Sandbox and the Sandbox's Pod. The newest come last. Events are kept for an
hour, unless the API server is configured otherwise.

Examples:
  hookbox events session
  hookbox events -A --types Warning -w`;

export function defineEvents(command: Command, context: CommandContext): void {
  command
    .argument("[name]", "claim or Sandbox, or kind/name such as pool/python")
    .option("--types <types>", "only these types, such as Warning")
    .option("-w, --watch", "keep running, and show new Events")
    .option("-o, --output <format>", "json or yaml")
    .addHelpText("after", MORE);
  withAllNamespaces(command).action(async (name: string | undefined) => {
    const options = optionsOf<EventsOptions>(command);
    const format = formatOf(options.output, ["json", "yaml"]);
    if (name !== undefined && options.allNamespaces) {
      throw new UsageError("Cannot show Events of one name in all namespaces: leave out the name or -A");
    }
    if (options.watch && format) throw new UsageError(`Cannot watch as ${format}: leave out -w or -o`);
    const { api, namespace: own } = await context.connectCluster(options);
    const namespace = options.allNamespaces ? undefined : own;
    const types = options.types?.toLowerCase().split(",");
    const names = name === undefined ? undefined : await namesOf(api, own, name, context.signal);
    const isAboutSandboxes = names ? undefined : await createFilter(api, namespace);
    const isWanted = (event: Event) =>
      (types === undefined || types.includes((event.type ?? "").toLowerCase())) &&
      (names?.has(aboutOf(event)) ?? isAboutSandboxes?.(event) ?? false);
    if (options.watch) return await watchEvents(context, api, namespace, isWanted, options.allNamespaces ?? false);
    const events = (await listEvents(api, namespace)).filter(isWanted);
    if (format === "json" || format === "yaml") {
      const list = { apiVersion: "v1", kind: "List", metadata: { resourceVersion: "" }, items: events };
      return context.stdout.write(await serialize(list, format));
    }
    if (events.length === 0) {
      return context.stderr.write(`No events found${namespace ? ` in ${namespace} namespace` : ""}.\n`);
    }
    context.stdout.write(drawn(createEventTable(context, options.allNamespaces ?? false)(events, context.now())));
  });
  withCluster(command);
}

/** An Event of the core API. Which times are set depends on who recorded it. */
export interface Event extends KubeObject {
  involvedObject: { kind?: string; name?: string; namespace?: string; uid?: string };
  reason?: string;
  message?: string;
  type?: string;
  count?: number;
  firstTimestamp?: string | null;
  lastTimestamp?: string | null;
  eventTime?: string | null;
  series?: { count?: number; lastObservedTime?: string };
}

/** Lists Events, the newest last. @param namespace undefined: all namespaces @throws {SandboxError} */
export async function listEvents(api: Api, namespace: string | undefined, query = {}): Promise<Event[]> {
  const object = { kind: "Event", name: "", ...namespace === undefined ? {} : { namespace } };
  const path = pathOf({ resource: "events", namespace });
  const { items } = await callAPI<{ items: Event[] }>(api, {
    method: "GET",
    path,
    query,
    action: "list events",
    object,
  });
  return items.map((event) => ({ ...event, apiVersion: "v1", kind: "Event" }))
    .sort((a, b) => Date.parse(lastSeen(a) ?? "") - Date.parse(lastSeen(b) ?? ""));
}

/** Names are unique only within a kind. */
const aboutOf = ({ involvedObject: { kind = "", name = "" } }: Event) => `${kind}/${name}`;

/** Kinds whose Events are about sandboxes whatever their name. */
const OURS: readonly string[] = KINDS.map(({ kind }) => kind);

/**
 * Creates a function that returns whether an Event is about a sandbox. Events do not say who owns a Pod or volume: their
 * names tell. A Sandbox that is created later is known from its own Events.
 */
async function createFilter(api: Api, namespace: string | undefined): Promise<(event: Event) => boolean> {
  const keyOf = (namespace: string | undefined, name: string | undefined) => `${namespace}/${name}`;
  const sandboxes = await listObjects(api, SANDBOX, { namespace });
  const known = new Set(sandboxes.map(({ metadata }) => keyOf(metadata.namespace, metadata.name)));
  return ({ involvedObject: { kind = "", name = "", namespace } }) => {
    if (kind === "Sandbox") known.add(keyOf(namespace, name));
    if (OURS.includes(kind)) return true;
    if (kind === "Pod") return known.has(keyOf(namespace, name));
    if (kind !== "PersistentVolumeClaim") return false;
    // The name of the volume, a dash, the name of the Sandbox.
    return name.split("-").some((_, i, parts) => known.has(keyOf(namespace, parts.slice(i + 1).join("-"))));
  };
}

async function namesOf(api: Api, namespace: string, text: string, signal: AbortSignal): Promise<Set<string>> {
  const [first = "", second] = text.split("/");
  const kind = second === undefined ? undefined : findKind(first)?.kind;
  if (second !== undefined && kind === undefined) {
    throw new UsageError(`Cannot show Events of "${text}": kinds are claim, sandbox, pool and template`);
  }
  if (kind === "SandboxWarmPool" || kind === "SandboxTemplate") return new Set([`${kind}/${second}`]);
  const { claimOrSandbox } = await find(api, namespace, second ?? first, signal);
  const sandbox = sandboxNameOf(claimOrSandbox);
  const own = `${claimOrSandbox.kind}/${claimOrSandbox.metadata.name}`;
  return new Set([own, ...sandbox === undefined ? [] : ["Sandbox", "Pod"].map((kind) => `${kind}/${sandbox}`)]);
}

/** Creates a function that formats Events as a table; later rows keep the column widths of the first ones. */
export function createEventTable(
  context: CommandContext,
  withNamespace: boolean,
): (events: readonly Event[], now: Date) => string {
  const paint = createPaint(context.stdout, context);
  const headers = [...withNamespace ? ["NAMESPACE"] : [], "LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"];
  let widths: number[] | undefined;
  return (events, now) => {
    const rows = events.map((event) => [
      ...withNamespace ? [event.metadata.namespace ?? ""] : [],
      ageOf(lastSeen(event), now),
      event.type ?? "",
      event.reason ?? "",
      `${event.involvedObject.kind?.toLowerCase()}/${event.involvedObject.name}`,
      oneLine((event.message ?? "").trim()),
    ]);
    const header = widths === undefined ? headers : undefined;
    widths = widthsOf(header ? [header, ...rows] : rows, widths);
    return renderTable(header, rows, widths, (text, row, column) => {
      return headers[column] === "TYPE" && events[row]?.type === "Warning" ? paint("yellow", text) : text;
    });
  };
}

async function watchEvents(
  context: CommandContext,
  api: Api,
  namespace: string | undefined,
  isWanted: (event: Event) => boolean,
  withNamespace: boolean,
): Promise<void> {
  const table = createEventTable(context, withNamespace);
  let initial: Event[] | undefined = [];
  const print = (events: readonly Event[]) => {
    if (events.length > 0) context.stdout.write(drawn(table(events, context.now())));
  };
  const collection = { path: pathOf({ resource: "events", namespace }), parse: (event: unknown) => event as Event };
  const handler = {
    observe: (event: Event) => {
      if (!isWanted(event)) return;
      if (initial) initial.push(event);
      else print([event]);
    },
    gone: () => {},
    listed: () => {
      if (initial) print(initial.sort((a, b) => Date.parse(lastSeen(a) ?? "") - Date.parse(lastSeen(b) ?? "")));
      initial = undefined;
    },
  };
  const log = createLog(
    "warn",
    (line) => context.stderr.write(`${(JSON.parse(line) as { message: string }).message}\n`),
  );
  await listAndWatch(api, collection, handler, { log, signal: context.signal });
  context.signal.throwIfAborted();
}
