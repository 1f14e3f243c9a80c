/** Opens connections to sandboxes, keeps them for reuse, and gives up after a timeout. @module */
import { Agent } from "node:http";
import { createConnection, type NetConnectOpts, type Socket } from "node:net";
import { createHttp2Dialler, type Http2Dialler } from "./http2dial.ts";

/**
 * Idle connections are closed after this time, in milliseconds: earlier than servers do (uvicorn and Node after 5 s).
 */
const KEEP_MS = 4000;
const KEPT_PER_SANDBOX = 64;

/** Connections to all sandboxes. */
export interface Dialler {
  agent: Agent;
  /** Connections to ports that speak HTTP/2. */
  http2: Http2Dialler;
  /** Opens a connection for an upgrade; the agent does not keep it. */
  connect(options: NetConnectOpts): Socket;
  /** Closes kept connections to addresses that no longer belong to their Pod. */
  forget(ips: readonly string[]): void;
  close(): void;
}

/** Creates a dialler. @param dialTimeout longest time until a connection is open, in milliseconds */
export function createDialler(dialTimeout: number): Dialler {
  const connect = (options: NetConnectOpts) => {
    const socket = createConnection(options);
    const timer = setTimeout(() => socket.destroy(noConnection(dialTimeout)), dialTimeout);
    const stop = () => clearTimeout(timer);
    socket.once("connect", stop).once("close", stop);
    return socket;
  };
  const agent = new Agent({ keepAlive: true, timeout: KEEP_MS, maxFreeSockets: KEPT_PER_SANDBOX, scheduling: "lifo" });
  agent.createConnection = (options) => outliveWrites(connect(options as NetConnectOpts));
  const http2 = createHttp2Dialler(connect, dialTimeout);
  return {
    agent,
    connect,
    http2,
    forget(ips) {
      http2.forget(ips);
      for (const [key, sockets] of Object.entries(agent.freeSockets)) {
        if (ips.some((ip) => key.startsWith(`${ip}:`))) sockets?.forEach((socket) => socket.destroy());
      }
    },
    close() {
      agent.destroy();
      http2.close();
    },
  };
}

function noConnection(ms: number): Error {
  return Object.assign(new Error(`no connection within ${ms / 1000} s`), { code: "EDIALTIMEOUT" });
}

/** Errors of a write to a connection that the other side has closed. */
const HUNG_UP = new Set(["EPIPE", "ECONNRESET", "ECONNABORTED"]);

type Write = (this: Socket, ...args: unknown[]) => void;

/**
 * Drops writes after the other side has closed the connection, so that its answer can still be read. A server that
 * answers before an upload ends, and closes the connection, resets it. Without this, Node would destroy the socket when
 * a write fails, including the answer in its buffer. Readers get the answer, or the error.
 */
function outliveWrites(socket: Socket): Socket {
  const methods = socket as unknown as Record<"_write" | "_writev", Write | undefined>;
  let isDeaf = false;
  for (const name of ["_write", "_writev"] as const) {
    const write = methods[name];
    if (!write) continue;
    methods[name] = function (...args) {
      const done = args.pop() as (error?: Error | null) => void;
      if (isDeaf) return done();
      write.call(this, ...args, (error?: NodeJS.ErrnoException | null) => {
        isDeaf = error?.code !== undefined && HUNG_UP.has(error.code);
        done(isDeaf ? null : error);
      });
    };
  }
  return socket;
}
