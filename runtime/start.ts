/** Puts the runtime together, listens on its ports and stops it; reads no command line. @module */
import { getRequestListener } from "@hono/node-server";
import process from "node:process";
import type { Log } from "../lib/log.ts";
import { createBinding } from "./bind.ts";
import { createRoot } from "./confine.ts";
import { createLegacy } from "./legacy.ts";
import { listen, type Listening } from "./listen.ts";
import type { RuntimeOptions } from "./options.ts";
import { createProcesses } from "./processes/processes.ts";
import { createRest } from "./rest.ts";
import { createTokenCheck } from "./token.ts";

/** A runtime that listens. */
export interface Runtime {
  port: number;
  restPort: number;
  /**
   * Stops: health says 503, new requests are refused, running ones may end for `shutdownMs`; then commands are killed
   * with all their children, and the ports close.
   */
  stop(): Promise<void>;
}

/** How long answers of commands that were killed may take to get out, in milliseconds. */
const LAST_ANSWERS_MS = 1000;

/** Starts the runtime. @throws if a port is taken or the root cannot be made; nothing is left listening then */
export async function startRuntime(options: RuntimeOptions, log: Log): Promise<Runtime> {
  const root = await createRoot(options.root);
  const token = createTokenCheck(options.tokenFile, options.tokenRequired);
  const binding = createBinding(root);
  const processes = createProcesses({ env: binding.env });
  const [stopping, killing] = [new AbortController(), new AbortController()];
  const shared = { root, maxUploadBytes: options.maxUploadBytes, stop: stopping.signal, log };
  const { outputBytes, execTimeoutMs: timeoutMs, tokenScope } = options;
  const legacy = createLegacy({
    ...shared,
    run: processes.run,
    timeoutMs,
    outputBytes,
    kill: killing.signal,
    token: tokenScope === "all" ? token : undefined,
  });
  const metadata = { prefix: options.metadataPrefix, env: process.env };
  const rest = createRest({ ...shared, binding, token, tokenScope, metadata });
  const ports = await listenAll(options.host, [
    { port: options.port, listener: getRequestListener(legacy.fetch) },
    { port: options.restPort, listener: getRequestListener(rest.fetch) },
  ]);
  const [port = 0, restPort = 0] = ports.map(({ port }) => port);
  log("info", "Listening", { host: options.host, port, restPort, root: root.path });
  let stopped: Promise<void> | undefined;
  return {
    port,
    restPort,
    stop: () =>
      stopped ??= (async () => {
        stopping.abort();
        await within(options.shutdownMs, idle(ports));
        killing.abort();
        processes.killAll();
        await within(LAST_ANSWERS_MS, idle(ports));
        await Promise.all(ports.map((listening) => listening.close()));
        log("info", "Stopped");
      })(),
  };
}

async function listenAll(
  host: string,
  wanted: { port: number; listener: Parameters<typeof listen>[0] }[],
): Promise<Listening[]> {
  const ports: Listening[] = [];
  try {
    for (const { port, listener } of wanted) ports.push(await listen(listener, host, port));
    return ports;
  } catch (error) {
    await Promise.all(ports.map((listening) => listening.close()));
    throw error;
  }
}

async function idle(ports: Listening[]): Promise<void> {
  await Promise.all(ports.map((listening) => listening.idle()));
}

async function within(ms: number, done: Promise<void>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  await Promise.race([done, new Promise<void>((resolve) => timer = setTimeout(resolve, ms))]);
  clearTimeout(timer);
}
