/** Connections to sandboxes: kept while they are of use, given up when nobody answers. Retries nothing. @module */
import { Agent } from "node:http";
import { createConnection, type NetConnectOpts, type Socket } from "node:net";

/** Servers close idle connections after 5 s at the earliest (uvicorn, Node): ours go first. */
const KEEP_MS = 4000;
const KEPT_PER_SANDBOX = 64;
const NEVER_DIALLED = new Set(["ECONNREFUSED", "EHOSTUNREACH", "ENETUNREACH", "EHOSTDOWN", "EADDRNOTAVAIL"]);

/** Kept connections to all sandboxes. */
export interface Dialler {
  agent: Agent;
  /** Opens a connection for an upgrade; it is kept by nobody. */
  connect(options: NetConnectOpts): Socket;
  /** Drops kept connections to addresses that have become nobody's. */
  forget(ips: readonly string[]): void;
  close(): void;
}

/** Makes a dialler; no connection is tried for longer than `dialMs` milliseconds. */
export function createDialler(dialMs: number): Dialler {
  const connect = (options: NetConnectOpts) => {
    const socket = createConnection(options);
    const timer = setTimeout(() => socket.destroy(dialTimeout(dialMs)), dialMs);
    const stop = () => clearTimeout(timer);
    socket.once("connect", stop).once("close", stop);
    return socket;
  };
  const agent = new Agent({ keepAlive: true, timeout: KEEP_MS, maxFreeSockets: KEPT_PER_SANDBOX, scheduling: "lifo" });
  agent.createConnection = (options) => connect(options as NetConnectOpts);
  return {
    agent,
    connect,
    forget(ips) {
      for (const [key, sockets] of Object.entries(agent.freeSockets)) {
        if (ips.some((ip) => key.startsWith(`${ip}:`))) sockets?.forEach((socket) => socket.destroy());
      }
    },
    close: () => agent.destroy(),
  };
}

/** Tells whether an error means that no connection came about, so that nothing was sent. */
export function isDialFailure(error: Error): boolean {
  const { code, syscall } = error as NodeJS.ErrnoException;
  return syscall === "connect" || code === "EDIALTIMEOUT" || (code !== undefined && NEVER_DIALLED.has(code));
}

function dialTimeout(ms: number): Error {
  return Object.assign(new Error(`no connection within ${ms / 1000} s`), { code: "EDIALTIMEOUT" });
}
