/** Shows what sandboxes use: by the cluster's metrics, or by their own runtimes. Changes nothing, wakes nobody. @module */
import { type Api, isOk, messageOf } from "../kube/api.ts";
import { find } from "../sdk/control/find.ts";
import { infoOf } from "../sdk/control/readiness.ts";
import type { SandboxInfo } from "../sdk/options.ts";
import { Failure } from "./failure.ts";
import { type Format, serialize } from "./output/print.ts";
import { renderTable } from "./output/table.ts";
import { type Usage, usageOfMetrics } from "./top/usage.ts";
import type { CommandContext, Where } from "./commandcontext.ts";

/** Of what, and by whom. */
export interface TopRequest {
  /** Empty: all that are Ready. */
  names: string[];
  selector: string | undefined;
  allNamespaces: boolean;
  /** Undefined: the cluster's metrics where there are any. */
  source: "metrics" | "runtime" | undefined;
  format: Format | undefined;
}

/** Shows it. @throws {Failure} if nobody has numbers */
export async function runTop(context: CommandContext, where: Where, request: TopRequest): Promise<void> {
  const { source, format, allNamespaces } = request;
  const { api, namespace } = await context.reach(where);
  const sandboxes = await sandboxesOf(context, where, request, api, namespace);
  if (sandboxes.length === 0) return context.stderr.write("No sandboxes are ready.\n");
  const metrics = source === "runtime" ? undefined : await metricsIfAny(api, sandboxes, source === "metrics");
  const usages = metrics ?? await askRuntimes(context, where, sandboxes);
  if (!format) context.stderr.write(`By the ${metrics ? "cluster's metrics" : "sandboxes' own runtimes"}.\n`);
  if (format === "json" || format === "yaml") return context.stdout.write(await serialize(usages, format));
  const headers = ["NAME", "SANDBOX", "CPU(CORES)", "MEMORY", "LIMIT"];
  const rows = usages.map((usage) => [usage.name, usage.sandbox, ...cellsOf(usage)]);
  if (!allNamespaces) return context.stdout.write(renderTable(headers, rows));
  const named = rows.map((row, i) => [usages[i]?.namespace ?? "", ...row]);
  context.stdout.write(renderTable(["NAMESPACE", ...headers], named));
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
  if (problem !== undefined) return ["<unknown>", "<unknown>", problem];
  const memory = (bytes: number | undefined) => bytes === undefined ? "<none>" : `${Math.round(bytes / 2 ** 20)}Mi`;
  return [
    cores === undefined ? "<unknown>" : `${Math.round(cores * 1000)}m`,
    memory(memoryBytes),
    memory(memoryLimitBytes),
  ];
}
