/** Starts the runtime on its ports, and stops it. @module */
import { getRequestListener } from "@hono/node-server";
import type { Log } from "../process/log.ts";
import { assemble } from "./assemble.ts";
import { forThisPod, listen, listenGRPC, type Listening, upgradesForThisPod } from "./listen.ts";
import type { RuntimeOptions } from "./options.ts";
import { tokenIsMounted } from "./token.ts";
import { becomeUser } from "./user.ts";

/** A running runtime. */
export interface Runtime {
  port: number;
  restPort: number;
  grpcPort: number;
  /**
   * Stops the runtime. The health check returns 503, new requests are refused, and running requests may continue for
   * `shutdownTimeout`. Then commands are killed with all processes that they started, and the ports are closed.
   */
  stop(): Promise<void>;
}

/** How long the responses of killed commands may take to be sent, in milliseconds. */
const LAST_ANSWERS_MS = 1000;

/**
 * Starts the runtime.
 *
 * @throws if a port is in use, the root cannot be created, the user cannot be switched, or the token cannot be read. No port is open then
 */
export async function startRuntime(options: RuntimeOptions, log: Log): Promise<Runtime> {
  if (options.user !== undefined) becomeUser(options.user);
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
  log("info", "Listening", { host, port, restPort, grpcPort, root: root.path, workdir: root.workdir, token });
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

/** Opens the ports one after another. If one fails, the others are closed. */
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
