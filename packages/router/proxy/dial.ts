/** Opens connections to sandboxes, keeps them for reuse, and gives up after a timeout. @module */
import { Agent } from "node:http";
import { type ClientHttp2Session, connect as connectHttp2 } from "node:http2";
import { createConnection, type NetConnectOpts, type Socket } from "node:net";
import { isDialFailure } from "./failure.ts";

/**
 * Idle connections are closed after this time, in milliseconds: earlier than servers do (uvicorn and Node after 5 s).
 */
const IDLE_HTTP1_MS = 4000;
const MOST_IDLE_PER_SANDBOX = 64;

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
  const agent = new Agent({
    keepAlive: true,
    timeout: IDLE_HTTP1_MS,
    maxFreeSockets: MOST_IDLE_PER_SANDBOX,
    scheduling: "lifo",
  });
  agent.createConnection = (options) => ignoreWriteErrors(connect(options as NetConnectOpts));
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
const CLOSED_BY_PEER = new Set(["EPIPE", "ECONNRESET", "ECONNABORTED"]);

type Write = (this: Socket, ...args: unknown[]) => void;

/**
 * Drops writes after the other side has closed the connection, so that its answer can still be read. A server that
 * answers before an upload ends, and closes the connection, resets it. Without this, Node would destroy the socket when
 * a write fails, including the answer in its buffer. Readers get the answer, or the error.
 */
function ignoreWriteErrors(socket: Socket): Socket {
  const methods = socket as unknown as Record<"_write" | "_writev", Write | undefined>;
  let isClosed = false;
  for (const name of ["_write", "_writev"] as const) {
    const write = methods[name];
    if (!write) continue;
    methods[name] = function (...args) {
      const done = args.pop() as (error?: Error | null) => void;
      if (isClosed) return done();
      write.call(this, ...args, (error?: NodeJS.ErrnoException | null) => {
        isClosed = error?.code !== undefined && CLOSED_BY_PEER.has(error.code);
        done(isClosed ? null : error);
      });
    };
  }
  return socket;
}

/** Ends a connection whose other side does not speak HTTP/2. No part of a request has been sent. */
export const NOT_HTTP2 = new Error("it does not speak HTTP/2");

/** Connections by address and port. */
interface Http2Dialler {
  /** @throws {Error} if the connection fails, or {@link NOT_HTTP2} */
  session(address: string, port: number): Promise<ClientHttp2Session>;
  /** Closes connections to addresses that no longer belong to a Pod. */
  forget(ips: readonly string[]): void;
  close(): void;
}

/** How long a connection without streams is kept, in milliseconds. */
const IDLE_HTTP2_MS = 30_000;
/** Interval of pings while streams are open, in milliseconds. A ping must be answered before the next one. */
const PING_MS = 30_000;
const SETTINGS = { enablePush: false, initialWindowSize: 1024 * 1024 };

/**
 * Creates the dialler; `open` opens a connection, and `waitMs` is how long its first frame may take, in milliseconds.
 */
function createHttp2Dialler(open: (options: NetConnectOpts) => Socket, waitMs: number): Http2Dialler {
  const sessions = new Map<string, Promise<ClientHttp2Session>>();

  function begin(key: string, address: string, port: number): Promise<ClientHttp2Session> {
    const session = connectHttp2("http://sandbox", {
      createConnection: () => open({ host: address, port }),
      settings: SETTINGS,
      maxSessionMemory: 100,
    });
    const forget = () => sessions.get(key) === beginning && sessions.delete(key);
    session.on("error", () => {}).once("close", forget).once("goaway", forget);
    closeWhenUnused(session);
    const beginning = whenReady(session, waitMs);
    beginning.catch(forget);
    return beginning;
  }

  return {
    session(address, port) {
      const key = `${address} ${port}`;
      const session = sessions.get(key) ?? begin(key, address, port);
      sessions.set(key, session);
      return session;
    },
    forget(ips) {
      for (const [key, session] of sessions) {
        if (ips.some((ip) => key.startsWith(`${ip} `))) session.then((each) => each.destroy(), () => {});
      }
    },
    close() {
      for (const session of sessions.values()) session.then((each) => each.destroy(), () => {});
    },
  };
}

/** Waits for the first frame (SETTINGS), which every HTTP/2 server sends. */
function whenReady(session: ClientHttp2Session, waitMs: number): Promise<ClientHttp2Session> {
  return new Promise((resolve, reject) => {
    const fail = (error: Error) => {
      clearTimeout(timer);
      session.destroy();
      reject(isDialFailure(error) ? error : NOT_HTTP2);
    };
    const closed = () => fail(NOT_HTTP2);
    const timer = setTimeout(closed, waitMs);
    session.once("error", fail).once("close", closed).once("remoteSettings", () => {
      clearTimeout(timer);
      session.off("error", fail).off("close", closed);
      resolve(session);
    });
  });
}

/** Closes a session that is unused, or whose other side no longer answers pings. */
function closeWhenUnused(session: ClientHttp2Session): void {
  let streams = 0;
  let isAnswered = true;
  let timer: NodeJS.Timeout | undefined;
  const { request } = session;
  const ping = () => {
    if (!isAnswered) return session.destroy();
    isAnswered = false;
    session.ping((error) => isAnswered = error === null);
  };
  session.request = (...args) => {
    const stream = request.apply(session, args);
    if (streams++ === 0) timer = setInterval(ping, PING_MS);
    stream.once("close", () => {
      if (--streams > 0) return;
      clearInterval(timer);
      isAnswered = true;
      session.setTimeout(IDLE_HTTP2_MS);
    });
    return stream;
  };
  session.once("close", () => clearInterval(timer));
  session.setTimeout(IDLE_HTTP2_MS, () => streams === 0 && session.close());
}
