/** `hookbox top`: shows the CPU and memory usage of sandboxes. @module */
import type { Command } from "commander";
import { type Api, isOk, messageOf } from "../../kube/api.ts";
import { find } from "../../sdk/control/find.ts";
import { infoOf } from "../../sdk/control/readiness.ts";
import type { SandboxInfo } from "../../sdk/options.ts";
import { pause } from "../../sdk/runtime/repeat.ts";
import { claimStatus, sandboxStatus, type Status, statusText, type Tone } from "../../summary/status.ts";
import { listSandboxes, readAround } from "../cluster.ts";
import type { Cluster, CommandContext, ConnectionOptions } from "../commandcontext.ts";
import { Failure, UsageError } from "../failure.ts";
import { durationMs, optionsOf, withAllNamespaces, withRouter } from "../options.ts";
import { type Format, formatOf, renderTable, serialize } from "../output.ts";
import { drawn, plain } from "../terminal.ts";
import { type Usage, usageOfMetrics, usageOfRuntimes } from "../top/usage.ts";

interface TopOptions {
  selector?: string;
  output?: string;
  source?: string;
  sortBy: string;
  watch?: boolean;
  interval: string;
}

const ORDERS = ["name", "status", "cpu", "memory"] as const;

const MORE = `
STATUS is that of "hookbox get". Only sandboxes that run have usage. LIMIT is <none> if the sandbox has no memory limit.

Reads the metrics API of the cluster if there is one, otherwise the runtimes in the sandboxes. A line on standard error
names the source.

Examples:
  hookbox top                       status and usage of each sandbox in this namespace
  hookbox top -A -w --sort-by cpu   all sandboxes, the busiest first, every five seconds`;

export function defineTop(command: Command, context: CommandContext): void {
  command
    .argument("[sandboxes...]", "names of claims or Sandboxes (default: all)")
    .option("-l, --selector <labels>", "only objects with these labels")
    .option("--source <source>", "metrics (the cluster's) or runtime (the sandboxes' own)")
    .option("--sort-by <column>", "name, status, cpu or memory; problems and the largest first", "name")
    .option("-w, --watch", "keep running, and show the usage again and again")
    .option("--interval <time>", "with -w: time between two readings", "5s")
    .option("-o, --output <format>", "json or yaml")
    .addHelpText("after", MORE);
  withAllNamespaces(command).action(async (names: string[]) => {
    const options = optionsOf<TopOptions>(command);
    const format = formatOf(options.output, ["json", "yaml"]);
    const { source, selector, watch = false, allNamespaces = false } = options;
    const sortBy = ORDERS.find((order) => order === options.sortBy);
    if (sortBy === undefined) {
      throw new UsageError(`Cannot sort by "${options.sortBy}": --sort-by takes ${ORDERS.join(", ")}`);
    }
    if (watch && format) throw new UsageError(`Cannot watch as ${format}: leave out -w or -o`);
    const intervalMs = durationMs("--interval", options.interval);
    if (source !== undefined && source !== "metrics" && source !== "runtime") {
      throw new UsageError(`Cannot use --source "${source}": it is metrics or runtime`);
    }
    if (names.length > 0 && allNamespaces) {
      throw new UsageError("Cannot show sandboxes by name in all namespaces: leave out the names or -A");
    }
    const request: TopRequest = { names, selector, allNamespaces, source, format, sortBy };
    await (watch ? watchTop(context, options, request, intervalMs) : runTop(context, options, request));
  });
  withRouter(command);
}

/** Options of `hookbox top`. */
interface TopRequest {
  /** Empty: all sandboxes. */
  names: string[];
  selector: string | undefined;
  allNamespaces: boolean;
  /** Undefined: the cluster's metrics if there are any, else the runtimes. */
  source: "metrics" | "runtime" | undefined;
  format: Format | undefined;
  sortBy: (typeof ORDERS)[number];
}

/** A sandbox, as STATUS shows it. */
interface Seen {
  info: SandboxInfo;
  status: Status;
}

/** The usage of a sandbox with its status, which is the same as in `hookbox get`. */
type ShownUsage = Usage & { status: Status };

/** Usage, and its source. `usages` is empty if there is no sandbox. */
interface UsageReading {
  usages: ShownUsage[];
  /** Name of the source, for the user. */
  source: string;
}

/** Shows the usage once. @throws {Failure} if there are no metrics */
async function runTop(context: CommandContext, where: ConnectionOptions, request: TopRequest): Promise<void> {
  const { format } = request;
  const { usages, source } = await readUsage(context, where, request);
  if (usages.length === 0) return context.stderr.write(`${NONE}\n`);
  if (format === "json" || format === "yaml") return context.stdout.write(await serialize(usages, format));
  context.stderr.write(`${source}\n`);
  context.stdout.write(tableOf(usages, request));
}

/**
 * Shows the usage repeatedly; in a terminal, in place. Errors are shown, and the next try follows.
 *
 * @throws the reason of the context's signal; never returns
 */
async function watchTop(
  context: CommandContext,
  where: ConnectionOptions,
  request: TopRequest,
  intervalMs: number,
): Promise<void> {
  const show = createRedraw(context);
  let last = "";
  for (;;) {
    try {
      const { usages, source } = await readUsage(context, where, request);
      last = usages.length === 0 ? `${NONE}\n` : `${source}\n${tableOf(usages, request)}`;
      show(last);
    } catch (error) {
      context.signal.throwIfAborted();
      show(`${error instanceof Error ? error.message : String(error)}\n${last}`);
    }
    await pause(intervalMs, context.signal);
  }
}

const NONE = "No sandboxes found.";

async function readUsage(
  context: CommandContext,
  where: ConnectionOptions,
  request: TopRequest,
): Promise<UsageReading> {
  const { source, sortBy } = request;
  const cluster = await context.connectCluster(where);
  const { api } = cluster;
  const seen = await sandboxesOf(context, cluster, request);
  if (seen.length === 0) return { usages: [], source: "" };
  const running = seen.map(({ info }) => info).filter(({ state }) => state === "Ready");
  const metrics = source === "runtime" ? undefined : await metricsIfAny(api, running, source === "metrics");
  const measured = metrics ?? await usageOfRuntimes(context, where, running);
  const keyOf = ({ namespace, name }: { namespace: string; name: string }) => `${namespace}/${name}`;
  const found = new Map(measured.map((usage) => [keyOf(usage), usage]));
  const usages = seen.map(({ info, status }) => ({ ...found.get(keyOf(info)) ?? unmeasured(info), status }));
  if (sortBy === "cpu") usages.sort((a, b) => (b.cores ?? -1) - (a.cores ?? -1));
  if (sortBy === "memory") usages.sort((a, b) => (b.memoryBytes ?? -1) - (a.memoryBytes ?? -1));
  if (sortBy === "status") usages.sort((a, b) => TONES.indexOf(a.status.tone) - TONES.indexOf(b.status.tone));
  return { usages, source: `Source: the ${metrics ? "cluster's metrics" : "sandboxes' runtimes"}.` };
}

const TONES: readonly Tone[] = ["bad", "progress", "good", "off"];

function unmeasured({ name, namespace, sandboxName = "" }: SandboxInfo): Usage {
  return {
    name,
    namespace,
    sandbox: sandboxName,
    cores: undefined,
    memoryBytes: undefined,
    memoryLimitBytes: undefined,
  };
}

function tableOf(usages: ShownUsage[], { allNamespaces }: TopRequest): string {
  const isWhole = usages.every(({ problem }) => problem === undefined);
  const headers = ["NAME", "STATUS", "SANDBOX", "CPU(CORES)", "MEMORY", "LIMIT", ...isWhole ? [] : ["PROBLEM"]];
  const rows = usages.map((usage) => {
    const cells = [usage.name, statusText(usage.status), usage.sandbox || "<none>", ...cellsOf(usage)];
    return isWhole ? cells : [...cells, usage.problem ?? ""];
  });
  if (!allNamespaces) return renderTable(headers, rows);
  return renderTable(["NAMESPACE", ...headers], rows.map((row, i) => [usages[i]?.namespace ?? "", ...row]));
}

/** Lists claims, and Sandboxes without a claim or pool, with their status. */
async function sandboxesOf(
  context: CommandContext,
  { api, namespace }: Cluster,
  { names, selector, allNamespaces }: TopRequest,
): Promise<Seen[]> {
  const { signal } = context;
  const now = new Date(api.now?.() ?? context.now());
  const found = names.length > 0
    ? await Promise.all(names.map(async (name) => (await find(api, namespace, name, signal)).claimOrSandbox))
    : await listSandboxes(api, { namespace: allNamespaces ? undefined : namespace, labelSelector: selector });
  const [aroundClaim, aroundSandbox] = await Promise.all(
    (["SandboxClaim", "Sandbox"] as const).map((kind) =>
      readAround(api, kind, found.filter((one) => one.kind === kind), now)
    ),
  );
  return found.map((one) => {
    const around = (one.kind === "Sandbox" ? aroundSandbox : aroundClaim)?.(one) ?? {};
    const status = one.kind === "Sandbox"
      ? sandboxStatus(one, around.pod, now)
      : claimStatus(one, around.sandbox, around.pod, now);
    return { info: infoOf(one), status };
  });
}

async function metricsIfAny(api: Api, sandboxes: SandboxInfo[], isWanted: boolean): Promise<Usage[] | undefined> {
  const answer = await api.send({ method: "GET", path: "/apis/metrics.k8s.io/v1beta1/pods" });
  if (isOk(answer)) return usageOfMetrics(answer.body, sandboxes);
  if (!isWanted) return undefined;
  throw new Failure(`Cannot read the cluster's metrics: ${messageOf(answer)}`, "Use --source runtime.");
}

/** A kernel or gVisor reports no limit as a number near 2^63, in bytes. */
const NO_LIMIT = 2 ** 50;

function cellsOf({ cores, memoryBytes, memoryLimitBytes = NO_LIMIT, problem }: Usage): string[] {
  const unknown = problem === undefined ? "<none>" : "<unknown>";
  const memory = (bytes: number) => `${Math.round(bytes / 2 ** 20)}Mi`;
  return [
    cores === undefined ? unknown : `${Math.round(cores * 1000)}m`,
    memoryBytes === undefined ? unknown : memory(memoryBytes),
    memoryLimitBytes >= NO_LIMIT ? unknown : memory(memoryLimitBytes),
  ];
}

/** Creates a function that writes a text in place of the previous one. Each text ends with a newline. */
export function createRedraw(
  { stdout, env, now }: Pick<CommandContext, "stdout" | "env" | "now">,
): (text: string) => void {
  const isInPlace = stdout.isTTY && env["TERM"] !== "dumb";
  let height = 0;
  return (text) => {
    if (!isInPlace) return stdout.write(`${now().toISOString()}\n${text}`);
    const lines = fitted(plain(text), stdout.columns, stdout.rows);
    const up = height > 0 ? `\x1b[${height}A` : "";
    height = lines.length;
    // Also clears the rest of longer old lines, and the lines below.
    stdout.write(drawn(`${up}\r${lines.map((line) => `${line}\x1b[K\n`).join("")}\x1b[J`));
  };
}

/**
 * Removes lines that would scroll out of view, and shortens lines that would wrap, because neither could be
 * overwritten.
 */
function fitted(text: string, columns = Infinity, rows = Infinity): string[] {
  const lines = text.replace(/\n$/, "").split("\n");
  const room = Math.max(2, rows - 1);
  const shown = lines.length <= room ? lines : [...lines.slice(0, room - 1), `… and ${lines.length - (room - 1)} more`];
  return shown.map((line) => [...line].slice(0, columns).join(""));
}
