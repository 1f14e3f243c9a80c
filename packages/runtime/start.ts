/** Starts the runtime as its user on its ports, and stops it. @module */
import { readFileSync } from "node:fs";
import process from "node:process";
import { getRequestListener } from "@hono/node-server";
import type { Log } from "../process/log.ts";
import { assemble } from "./assemble.ts";
import { forThisPod, listen, listenGRPC, type Listening, upgradesForThisPod } from "./listen.ts";
import type { RuntimeOptions } from "./options.ts";
import { tokenIsMounted } from "./token.ts";

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

interface Switches {
  initgroups?(user: string, group: number): void;
}

/** A user of the container. */
interface User {
  name: string;
  uid: number;
  gid: number;
  home: string;
}

/**
 * Gives the process, and all later ones, the user's id, groups and home. Commands and requests for files then have the
 * same rights, and what they write has the same owner. The switch cannot be undone.
 *
 * @param name name or number of a user in `passwd`
 * @throws {RangeError} if there is no such user, or this process is another user and not root
 */
export function becomeUser(name: string, passwd = readFileSync("/etc/passwd", "utf8")): void {
  const user = findUser(name, passwd);
  if (!user) throw new RangeError(`Cannot use --user ${name}: /etc/passwd of the image has no such user`);
  // The types lack initgroups(). Deno has none of these functions.
  const { getuid, initgroups, setgid, setuid } = process as Partial<typeof process> & Switches;
  if (getuid?.() === user.uid) return;
  if (getuid?.() !== 0 || !initgroups || !setgid || !setuid) {
    const remedy = "Start the container as root: runAsUser: 0, and hostUsers: false if the cluster has user namespaces";
    throw new RangeError(`Cannot use --user ${name}: only root can switch to another user. ${remedy}.`);
  }
  initgroups(user.name, user.gid);
  setgid(user.gid);
  setuid(user.uid);
  Object.assign(process.env, { HOME: user.home, USER: user.name, LOGNAME: user.name });
}

/** Finds a user by name or number. Undefined: `passwd` has none. */
export function findUser(name: string, passwd: string): User | undefined {
  for (const line of passwd.split("\n")) {
    const [own = "", , uid = "", gid = "", , home = ""] = line.split(":");
    if (own !== "" && (own === name || uid === name)) {
      return { name: own, uid: Number(uid), gid: Number(gid), home: home || "/" };
    }
  }
  return undefined;
}
