/** Shows the CPU and memory usage of sandboxes, from the cluster's metrics or from their runtimes. @module */
import { type Api, isOk, messageOf } from "../kube/api.ts";
import { find } from "../sdk/control/find.ts";
import { infoOf } from "../sdk/control/readiness.ts";
import type { SandboxInfo } from "../sdk/options.ts";
import { pause } from "../sdk/runtime/repeat.ts";
import { Failure } from "./failure.ts";
import { type Format, serialize } from "./output/print.ts";
import { renderTable } from "./output/table.ts";
import { createRedraw } from "./terminal/redraw.ts";
import { type Usage, usageOfMetrics } from "./top/usage.ts";
import type { CommandContext, Where } from "./commandcontext.ts";

/** Options of `hookbox top`. */
export interface TopRequest {
  /** Empty: all Ready sandboxes. */
  names: string[];
  selector: string | undefined;
  allNamespaces: boolean;
  /** Undefined: the cluster's metrics if there are any, else the runtimes. */
  source: "metrics" | "runtime" | undefined;
  format: Format | undefined;
  sortBy: "name" | "cpu" | "memory";
}

/** Usage, and its source. `usages` is empty if no sandbox is Ready. */
interface Look {
  usages: Usage[];
  /** Name of the source, for the user. */
  source: string;
}

/** Shows the usage once. @throws {Failure} if there are no metrics */
export async function runTop(context: CommandContext, where: Where, request: TopRequest): Promise<void> {
  const { format } = request;
  const { usages, source } = await look(context, where, request);
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
export async function watchTop(
  context: CommandContext,
  where: Where,
  request: TopRequest,
  intervalMs: number,
): Promise<void> {
  const show = createRedraw(context);
  let last = "";
  for (;;) {
    try {
      const { usages, source } = await look(context, where, request);
      last = usages.length === 0 ? `${NONE}\n` : `${source}\n${tableOf(usages, request)}`;
      show(last);
    } catch (error) {
      context.signal.throwIfAborted();
      show(`${error instanceof Error ? error.message : String(error)}\n${last}`);
    }
    await pause(intervalMs, context.signal);
  }
}

const NONE = "No sandboxes are ready.";

async function look(context: CommandContext, where: Where, request: TopRequest): Promise<Look> {
  const { source, sortBy } = request;
  const { api, namespace } = await context.reach(where);
  const sandboxes = await sandboxesOf(context, where, request, api, namespace);
  if (sandboxes.length === 0) return { usages: [], source: "" };
  const metrics = source === "runtime" ? undefined : await metricsIfAny(api, sandboxes, source === "metrics");
  const usages = metrics ?? await askRuntimes(context, where, sandboxes);
  if (sortBy === "cpu") usages.sort((a, b) => (b.cores ?? -1) - (a.cores ?? -1));
  if (sortBy === "memory") usages.sort((a, b) => (b.memoryBytes ?? -1) - (a.memoryBytes ?? -1));
  return { usages, source: `By the ${metrics ? "cluster's metrics" : "sandboxes' own runtimes"}.` };
}

function tableOf(usages: Usage[], { allNamespaces }: TopRequest): string {
  const isWhole = usages.every(({ problem }) => problem === undefined);
  const headers = ["NAME", "SANDBOX", "CPU(CORES)", "MEMORY", "LIMIT", ...isWhole ? [] : ["PROBLEM"]];
  const rows = usages.map((usage) => [usage.name, usage.sandbox, ...cellsOf(usage)]);
  if (!allNamespaces) return renderTable(headers, rows);
  return renderTable(["NAMESPACE", ...headers], rows.map((row, i) => [usages[i]?.namespace ?? "", ...row]));
}

async function sandboxesOf(
  context: CommandContext,
  where: Where,
  { names, selector, allNamespaces }: TopRequest,
  api: Api,
  namespace: string,
): Promise<SandboxInfo[]> {
  const { signal } = context;
  if (names.length > 0) {
    return await Promise.all(
      names.map(async (name) => infoOf((await find(api, namespace, name, signal)).claimOrSandbox)),
    );
  }
  const { client } = await context.connect(where);
  const list = client.list({
    signal,
    namespace: allNamespaces ? "*" : namespace,
    ...selector === undefined ? {} : { labelSelector: selector },
  });
  const infos = [];
  for await (const info of list) if (info.state === "Ready") infos.push(info);
  return infos;
}

async function metricsIfAny(api: Api, sandboxes: SandboxInfo[], isWanted: boolean): Promise<Usage[] | undefined> {
  const answer = await api.send({ method: "GET", path: "/apis/metrics.k8s.io/v1beta1/pods" });
  if (isOk(answer)) return usageOfMetrics(answer.body, sandboxes);
  if (!isWanted) return undefined;
  throw new Failure(`Cannot read the cluster's metrics: ${messageOf(answer)}`, "Use --source runtime.");
}

async function askRuntimes(context: CommandContext, where: Where, sandboxes: SandboxInfo[]): Promise<Usage[]> {
  const { usageOfRuntimes } = await import("./top/runtimes.ts");
  return await usageOfRuntimes(context, where, sandboxes);
}

function cellsOf({ cores, memoryBytes, memoryLimitBytes, problem }: Usage): string[] {
  if (problem !== undefined) return ["<unknown>", "<unknown>", "<unknown>", problem];
  const memory = (bytes: number | undefined) => bytes === undefined ? "<none>" : `${Math.round(bytes / 2 ** 20)}Mi`;
  return [
    cores === undefined ? "<unknown>" : `${Math.round(cores * 1000)}m`,
    memory(memoryBytes),
    memory(memoryLimitBytes),
  ];
}
