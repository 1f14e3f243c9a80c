/** Starts the runtime on its ports and stops it; reads no command line. @module */
import { getRequestListener } from "@hono/node-server";
import type { Log } from "../process/log.ts";
import { assemble } from "./assemble.ts";
import { forThisPod, upgradesForThisPod } from "./http/otherpod.ts";
import { listenGRPC } from "./listen-grpc.ts";
import { listen, type Listening } from "./listen.ts";
import type { RuntimeOptions } from "./options.ts";
import { tokenIsMounted } from "./token.ts";

/** A runtime that listens. */
export interface Runtime {
  port: number;
  restPort: number;
  grpcPort: number;
  /**
   * Stops: health says 503, new requests are refused, running ones may end for `shutdownTimeout`; then commands are killed
   * with all their children, and the ports close.
   */
  stop(): Promise<void>;
}

/** How long answers of commands that were killed may take to get out, in milliseconds. */
const LAST_ANSWERS_MS = 1000;

/**
 * Starts the runtime.
 *
 * @throws if a port is taken, the root cannot be made or the token cannot be read; nothing is left listening then
 */
export async function startRuntime(options: RuntimeOptions, log: Log): Promise<Runtime> {
  const [stopping, killing] = [new AbortController(), new AbortController()];
  const { apps: { legacy, rest, routes, door, terminals }, processes, contexts, root } = await assemble(options, log, {
    stop: stopping.signal,
    kill: killing.signal,
  });
  const { host, podUid } = options;
  const token = await tokenIsMounted(options.tokenFile, options.tokenRequired) ? options.tokenScope : "none";
  const ports = await listenAll([
    () => listen(forThisPod(podUid, getRequestListener(legacy.fetch)), host, options.port),
    () =>
      listen(
        forThisPod(podUid, getRequestListener(rest.fetch)),
        host,
        options.restPort,
        upgradesForThisPod(podUid, terminals),
      ),
    () => listenGRPC(routes, host, options.grpcPort, door),
  ]);
  const [port = 0, restPort = 0, grpcPort = 0] = ports.map(({ port }) => port);
  log("info", "Listening", { host, port, restPort, grpcPort, root: root.path, token });
  let stopped: Promise<void> | undefined;
  const stop = async () => {
    stopping.abort();
    await within(options.shutdownTimeout, idle(ports));
    killing.abort();
    processes.killAll();
    contexts.killAll();
    await within(LAST_ANSWERS_MS, idle(ports));
    await Promise.all(ports.map((listening) => listening.close()));
    log("info", "Stopped");
  };
  return { port, restPort, grpcPort, stop: () => stopped ??= stop() };
}

/** Opens one port after another; if one cannot be had the others are given back. */
async function listenAll(opening: (() => Promise<Listening>)[]): Promise<Listening[]> {
  const ports: Listening[] = [];
  try {
    for (const open of opening) ports.push(await open());
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
