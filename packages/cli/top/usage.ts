/** Measures the CPU and memory usage of sandboxes, by the cluster's metrics or by their runtimes. @module */
import { createClient } from "@connectrpc/connect";
import { quantity } from "../../api/objects/quantity.ts";
import { ProcessesService } from "../../runtime-api/gen/hookbox/runtime/v1/processes_pb.ts";
import type { SandboxInfo } from "../../sdk/options.ts";
import { errorOfConnect } from "../../sdk/runtime/answers.ts";
import { pause } from "../../sdk/runtime/repeat.ts";
import { createRuntimeClient } from "../../sdk/runtime/runtimeclient.ts";
import { NO_WAKE, type SandboxTransport } from "../../sdk/transport/transport.ts";
import type { CommandContext, ConnectionOptions } from "../commandcontext.ts";

export interface Usage {
  name: string;
  namespace: string;
  /** Name of the Sandbox; empty while there is none. */
  sandbox: string;
  /** CPUs in use; undefined if it is not known. */
  cores: number | undefined;
  memoryBytes: number | undefined;
  /** Undefined if there is no limit, or it is not known. */
  memoryLimitBytes: number | undefined;
  /** Why the usage is not known; absent if it is known. */
  problem?: string;
}

interface PodMetrics {
  metadata: { namespace: string; name: string };
  containers: { usage: { cpu: string; memory: string } }[];
}

/** Converts the response. A Sandbox's Pod has the Sandbox's name. */
export function usageOfMetrics(body: unknown, sandboxes: readonly SandboxInfo[]): Usage[] {
  const pods = new Map((body as { items: PodMetrics[] }).items.map((pod) => {
    return [`${pod.metadata.namespace}/${pod.metadata.name}`, pod];
  }));
  return sandboxes.map(({ name, namespace, sandboxName = "" }) => {
    const pod = pods.get(`${namespace}/${sandboxName}`);
    const ours = { name, namespace, sandbox: sandboxName, memoryLimitBytes: undefined };
    if (!pod) return { ...ours, cores: undefined, memoryBytes: undefined, problem: "no metrics yet" };
    const sum = (key: "cpu" | "memory") => pod.containers.reduce((all, { usage }) => all + quantity(usage[key]), 0);
    return { ...ours, cores: sum("cpu"), memoryBytes: sum("memory") };
  });
}

const SAMPLE_INTERVAL_MS = 1000;
/** Time limit of each of the two requests, in milliseconds. */
const REQUEST_TIMEOUT_MS = 10_000;

/** Asks all runtimes at the same time. If one does not answer, its usage contains the problem. */
export async function usageOfRuntimes(
  context: CommandContext,
  where: ConnectionOptions,
  sandboxes: SandboxInfo[],
): Promise<Usage[]> {
  const { transportTo } = await context.connect(where);
  return await Promise.all(sandboxes.map(async ({ name, namespace, sandboxName = "" }): Promise<Usage> => {
    const ours = { name, namespace, sandbox: sandboxName };
    try {
      return {
        ...ours,
        ...await usageOf(await transportTo(namespace, sandboxName), namespace, sandboxName, context.signal),
      };
    } catch (error) {
      context.signal.throwIfAborted();
      const problem = error instanceof Error ? error.message : String(error);
      return { ...ours, cores: undefined, memoryBytes: undefined, memoryLimitBytes: undefined, problem };
    }
  }));
}

type MeasuredUsage = Pick<Usage, "cores" | "memoryBytes" | "memoryLimitBytes">;

async function usageOf(
  transport: SandboxTransport,
  namespace: string,
  name: string,
  signal: AbortSignal,
): Promise<MeasuredUsage> {
  const object = { kind: "Sandbox", namespace, name };
  const client = createClient(ProcessesService, createRuntimeClient(transport, object, undefined).connectTransport);
  const ask = async () => {
    try {
      const { sandbox } = await client.getMetrics({}, { signal, timeoutMs: REQUEST_TIMEOUT_MS, headers: NO_WAKE });
      return { sandbox, at: performance.now() };
    } catch (error) {
      signal.throwIfAborted();
      throw errorOfConnect(error, "ask for metrics", object);
    }
  };
  try {
    const before = await ask();
    await pause(SAMPLE_INTERVAL_MS, signal);
    const after = await ask();
    const seconds = (after.at - before.at) / 1000;
    const limit = after.sandbox?.memoryLimitBytes;
    return {
      cores: Math.max(0, ((after.sandbox?.cpuSeconds ?? 0) - (before.sandbox?.cpuSeconds ?? 0)) / seconds),
      memoryBytes: Number(after.sandbox?.memoryBytes ?? 0n),
      memoryLimitBytes: limit === undefined ? undefined : Number(limit),
    };
  } finally {
    await transport.close();
  }
}
