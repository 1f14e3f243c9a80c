/** Starts the runtime as its user on its ports, or as the runtime of another user, and stops it. @module */
import { once } from "node:events";
import { constants } from "node:fs";
import { access } from "node:fs/promises";
import type { RequestListener } from "node:http";
import { getRequestListener } from "@hono/node-server";
import type { Log } from "../process/log.ts";
import { assemble, type Assembly } from "./assemble.ts";
import { forThisPod, listen, listenGRPC, type Listening, type Upgrades, upgradesForThisPod } from "./listen.ts";
import type { RuntimeOptions } from "./options.ts";
import type { BoundVariables } from "./processes/command.ts";
import { tokenIsMounted } from "./token.ts";
import { appOf, connectToParent } from "./users/userruntime.ts";
import { createUsers, ONE_USER, switchTo } from "./users/users.ts";

/** A running runtime. */
export interface Runtime {
  port: number;
  restPort: number;
  grpcPort: number;
  /** Undefined: E2B's protocol for commands and files is not served. */
  envdPort: number | undefined;
  /** Undefined: E2B's code interpreter protocol is not served. */
  interpreterPort: number | undefined;
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
 * @param entry the main module, for child processes. Undefined: callers cannot choose a user
 * @throws if a port is in use, the root cannot be created, the user cannot be switched, or the token cannot be read. No port is open then
 */
export async function startRuntime(options: RuntimeOptions, log: Log, entry?: string): Promise<Runtime> {
  const users = await createUsers(options, entry, log);
  const workdir = users.home?.workdir ?? options.workdir;
  const assembly = { users, env: users.home?.env };
  const { host, podUid } = options;
  let token = "none";
  const { ports, root, stop } = await serve(
    { ...options, workdir },
    log,
    assembly,
    async ({ apps, root, env, kill }) => {
      users.share(root.workdir, env);
      token = await tokenIsMounted(options.tokenFile, options.tokenRequired) ? options.tokenScope : "none";
      const { legacy, rest, envd, interpreter, routes, door, terminals } = apps;
      const { envdPort, interpreterPort } = options;
      return await listenAll([
        () => listen(forThisPod(podUid, getRequestListener(legacy.fetch)), host, options.port),
        () =>
          listen(
            forThisPod(podUid, getRequestListener(rest.fetch)),
            host,
            options.restPort,
            upgradesForThisPod(podUid, terminals),
          ),
        () => listenGRPC(routes, host, options.grpcPort, door),
        ...envdPort === undefined ? [] : [async () => {
          const listening = await listen(forThisPod(podUid, getRequestListener(envd.fetch)), host, envdPort);
          // E2B's clients take a stream that is cut for the end of the sandbox, and one that ends for that of the command.
          kill.addEventListener("abort", () => void listening.close());
          return listening;
        }],
        ...interpreterPort === undefined
          ? []
          : [() => listen(forThisPod(podUid, getRequestListener(interpreter.fetch)), host, interpreterPort)],
      ]);
    },
  );
  const [port = 0, restPort = 0, grpcPort = 0, ...others] = ports.map(({ port }) => port);
  const envdPort = options.envdPort === undefined ? undefined : others.shift();
  const numbers = { port, restPort, grpcPort, envdPort, interpreterPort: others.shift() };
  log("info", "Listening", { host, ...numbers, root: root.path, workdir: root.workdir, token });
  return { ...numbers, stop };
}

/**
 * Serves as the runtime of another user, on a Unix socket, until the parent process ends or `signal` aborts. The parent
 * has checked tokens, hosts and users.
 */
export async function serveForParent(options: RuntimeOptions, logAll: Log, signal: AbortSignal): Promise<void> {
  const own: { env: BoundVariables } = { env: () => ({}) };
  const parent = await connectToParent(() => own.env());
  const { user, socketPath, workdir } = parent.settings;
  const log: Log = (level, message, fields) => logAll(level, message, { ...fields, user: user.name });
  try {
    const target: { app?: RequestListener; upgrades?: Upgrades } = {};
    // Opened as root, so that no other user can connect.
    const socket = await listen((...call) => target.app?.(...call), socketPath, 0, {
      wants: (request) => target.upgrades?.wants(request) ?? false,
      upgrade: (...call) => target.upgrades?.upgrade(...call),
    });
    switchTo(user);
    const assembly = {
      users: { ...ONE_USER, check: () => {} },
      token: () => Promise.resolve("right" as const),
      env: workdir === undefined ? undefined : parent.env,
    };
    const place = workdir === undefined ? options.workdir : await firstFolder([workdir, user.home, "/"]);
    const { root, stop } = await serve({ ...options, workdir: place }, log, assembly, ({ apps, env }) => {
      const listeners = {
        legacy: getRequestListener(apps.legacy.fetch),
        rest: getRequestListener(apps.rest.fetch),
        envd: getRequestListener(apps.envd.fetch),
        interpreter: getRequestListener(apps.interpreter.fetch),
      };
      own.env = env;
      target.app = (request, response) => listeners[appOf(request)](request, response);
      target.upgrades = apps.terminals;
      return Promise.resolve([socket]);
    });
    parent.ready(root.workdir);
    const over = AbortSignal.any([signal, parent.left]);
    if (!over.aborted) await once(over, "abort");
    await stop();
  } catch (error) {
    await parent.failed(error instanceof Error ? error.message : String(error));
    throw error;
  }
}

/** Returns the first folder that the user of this process may enter. */
async function firstFolder(folders: string[]): Promise<string> {
  for (const folder of folders) {
    if (await access(folder, constants.X_OK).then(() => true, () => false)) return folder;
  }
  return "/";
}

/** Assembles the runtime and opens its ports. */
async function serve(
  options: RuntimeOptions,
  log: Log,
  assembly: Assembly,
  open: (assembled: Awaited<ReturnType<typeof assemble>>) => Promise<Listening[]>,
) {
  const [stopping, killing] = [new AbortController(), new AbortController()];
  const signals = { stop: stopping.signal, kill: killing.signal };
  const assembled = await assemble(options, log, signals, assembly);
  const ports = await open(assembled);
  const { processes, contexts, root } = assembled;
  let stopped: Promise<void> | undefined;
  const stop = async () => {
    stopping.abort();
    assembly.users?.stop();
    await within(options.shutdownTimeout, idle(ports));
    killing.abort();
    processes.killAll();
    contexts.killAll();
    await within(LAST_ANSWERS_MS, idle(ports));
    await Promise.all(ports.map((listening) => listening.close()));
    log("info", "Stopped");
  };
  return { ports, root, stop: () => stopped ??= stop() };
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
