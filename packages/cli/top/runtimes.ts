/** Measures the usage of sandboxes through their runtimes: reads the metrics twice, a second apart. @module */
import { createClient } from "@connectrpc/connect";
import { ProcessesService } from "../../runtime-api/gen/hookbox/runtime/v1/processes_pb.ts";
import { errorOfConnect } from "../../sdk/runtime/answers.ts";
import { createRuntimeClient } from "../../sdk/runtime/runtimeclient.ts";
import type { SandboxInfo } from "../../sdk/options.ts";
import { pause } from "../../sdk/runtime/repeat.ts";
import { NO_WAKE, type SandboxTransport } from "../../sdk/transport/transport.ts";
import type { CommandContext, Where } from "../commandcontext.ts";
import type { Usage } from "./usage.ts";

const APART_MS = 1000;
/** Time limit of each of the two requests, in milliseconds. */
const PATIENCE_MS = 10_000;

/** Asks all runtimes at the same time. If one does not answer, its usage contains the problem. */
export async function usageOfRuntimes(
  context: CommandContext,
  where: Where,
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

type Numbers = Pick<Usage, "cores" | "memoryBytes" | "memoryLimitBytes">;

async function usageOf(
  transport: SandboxTransport,
  namespace: string,
  name: string,
  signal: AbortSignal,
): Promise<Numbers> {
  const object = { kind: "Sandbox", namespace, name };
  const client = createClient(ProcessesService, createRuntimeClient(transport, object, undefined).connectTransport);
  const ask = async () => {
    try {
      const { sandbox } = await client.getMetrics({}, { signal, timeoutMs: PATIENCE_MS, headers: NO_WAKE });
      return { sandbox, at: performance.now() };
    } catch (error) {
      signal.throwIfAborted();
      throw errorOfConnect(error, "ask for metrics", object);
    }
  };
  try {
    const before = await ask();
    await pause(APART_MS, signal);
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
