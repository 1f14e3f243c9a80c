/** Opens the ports for clients: HTTP/1.1 and HTTP/2, with or without TLS. @module */
import type { Buffer } from "node:buffer";
import type { EventEmitter } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import {
  createSecureServer,
  createServer as createHttp2Server,
  type Http2SecureServer,
  type ServerHttp2Session,
} from "node:http2";
import { createServer as createNetServer, type Server as NetServer, type Socket } from "node:net";
import { createIdleConnections, type IdleConnections, listenOn, sortByVersion } from "../process/connections.ts";
import type { Handler } from "./handle.ts";
import { MAX_HEADER_BYTES } from "./proxy/exchange.ts";
import { cutOff, isHttp2 } from "./proxy/versions.ts";
import { runInBoundary } from "./errorboundary.ts";

/** Certificate and key in PEM. */
export interface Certificate {
  cert: Buffer;
  key: Buffer;
}

/** Where and how to listen; port 0 means any free port. */
interface ServerOptions {
  host: string;
  port: number;
  /** Longest wait for running requests on shutdown, in milliseconds. */
  graceMs: number;
  /** Accept HTTP/2 without TLS, too. */
  h2c: boolean;
  /** How long an HTTP/2 connection without open streams may be silent, in milliseconds. @default {KEEP_ALIVE_MS} */
  idleMs?: number;
  /** Most connections that wait for a request at a time. @default {MOST_WAITING} */
  mostWaiting?: number;
  /** Absent: no TLS. With TLS, HTTP/2 is always on. */
  tls?: Certificate;
}

/** An open port. */
export interface Listening {
  port: number;
  /** Stops accepting connections, waits up to `graceMs` for running requests, then closes the rest. */
  stop(): Promise<void>;
  /** Changes the certificate for new connections. Has no effect if the port has no TLS. */
  setCertificate(tls: Certificate): void;
}

/**
 * How long a connection may be silent between requests, in milliseconds. Load balancers keep connections for 60 s (AWS)
 * to 600 s (Google Cloud). The load balancer must close them first: if the router did, a request could already be on
 * its way.
 */
const KEEP_ALIVE_MS = 620_000;

const HTTP1 = {
  keepAliveTimeout: KEEP_ALIVE_MS,
  headersTimeout: 60_000,
  // No limit for a whole request, as a body may be long: the proxy ends requests in which no data moves.
  requestTimeout: 0,
  maxHeaderSize: MAX_HEADER_BYTES,
  shouldUpgradeCallback: asksForAnotherProtocol,
};
/** Most streams of one connection: each uses memory for headers and record until a limit of the router ends it. */
const HTTP2 = { settings: { maxConcurrentStreams: 250 } };
const SWEEP_MS = 50;
/** Most connections that wait for a request at a time. Each can hold up to 100 kB of an incomplete request head. */
const MOST_WAITING = 2000;
/** Most unanswered HTTP/1.1 requests on one connection: node:http reads more even if earlier ones are unanswered. */
const MOST_PIPELINED = 32;
/** How long a TLS handshake may take, in milliseconds. */
const HANDSHAKE_MS = 10_000;

/** Opens a port. @throws if the port is taken, or if certificate and key do not match */
export async function listen(handler: Handler, options: ServerOptions): Promise<Listening> {
  const { host, port, graceMs, tls } = options;
  const waiting = createIdleConnections(options.mostWaiting ?? MOST_WAITING);
  const open: OpenConnections = {
    sockets: new Set(),
    sessions: new Set(),
    waiting,
    idleMs: options.idleMs ?? KEEP_ALIVE_MS,
  };
  const { front, http1 } = tls ? createTlsServer(handler, tls, open) : createPlainServer(handler, options.h2c, open);
  front.on(tls ? "secureConnection" : "connection", (socket: Socket) => {
    open.sockets.add(socket);
    socket.once("close", () => open.sockets.delete(socket));
    // A connection with HTTP/2 is counted by its session, see below.
    if (!("alpnProtocol" in socket) || socket.alpnProtocol !== "h2") waiting.open(socket);
  });
  const taken = await listenOn(front, host, port);
  // If a connection cannot be accepted (too many open files), the others must go on.
  front.on("error", () => {});
  return {
    port: taken,
    stop: () => stop(front, http1, open, graceMs),
    setCertificate: (context) => "setSecureContext" in front && front.setSecureContext(context),
  };
}

/** The open connections: all sockets, and the HTTP/2 sessions among them. */
interface OpenConnections {
  sockets: Set<Socket>;
  sessions: Set<ServerHttp2Session>;
  waiting: IdleConnections;
  /** How long a session without open streams may be silent, in milliseconds. */
  idleMs: number;
}

/**
 * `front` accepts connections. `http1` can close idle ones: it is the same server or, with h2c, the one behind `front`;
 * undefined with TLS.
 */
interface ServerPorts {
  front: Server | NetServer | Http2SecureServer;
  http1: Pick<Server, "closeIdleConnections"> | undefined;
}

function createTlsServer(handler: Handler, tls: NonNullable<ServerOptions["tls"]>, open: OpenConnections): ServerPorts {
  const server = createSecureServer({ ...tls, ...HTTP1, ...HTTP2, allowHTTP1: true, handshakeTimeout: HANDSHAKE_MS });
  handleRequests(server, handler, open);
  return { front: server, http1: undefined };
}

function createPlainServer(handler: Handler, h2c: boolean, open: OpenConnections): ServerPorts {
  const http1 = createServer(HTTP1);
  handleRequests(http1, handler, open);
  if (!h2c) return { front: http1, http1 };
  const http2 = createHttp2Server(HTTP2);
  handleRequests(http2, handler, open);
  // This server does not listen itself. Without this event it would not track its connections.
  http1.emit("listening");
  const front = createNetServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    sortByVersion(socket, HTTP1.headersTimeout, (version) => {
      // HTTP/2 has no half-open connections, and a session on a socket from elsewhere does not notice the end itself.
      if (version === 2) socket.once("end", () => socket.destroy());
      if (version === 2) open.waiting.begin(socket);
      (version === 2 ? http2 : http1).emit("connection", socket);
    });
  });
  front.once("close", () => http1.close());
  return { front, http1 };
}

type Events = Pick<EventEmitter, "on">;

function handleRequests(server: Events, handler: Handler, { sessions, waiting, idleMs }: OpenConnections): void {
  const take = (request: IncomingMessage, response: ServerResponse, expectsContinue: boolean) => {
    const { socket } = request;
    // HTTP/2 is counted by stream, below.
    if (!isHttp2(request)) {
      if (waiting.begin(socket) > MOST_PIPELINED) return void socket.destroy();
      response.once("close", () => waiting.end(socket));
    }
    runInBoundary(() => cutOff(response), () => handler.request(request, response, expectsContinue));
  };
  server.on("request", (request: IncomingMessage, response: ServerResponse) => take(request, response, false));
  server.on("checkContinue", (request: IncomingMessage, response: ServerResponse) => take(request, response, true));
  server.on("upgrade", (request: IncomingMessage, socket: Socket, head: Uint8Array) => {
    waiting.begin(socket);
    runInBoundary(() => socket.destroy(), () => handler.upgrade(request, socket, head));
  });
  server.on("session", (session: ServerHttp2Session) => {
    sessions.add(session);
    session.on("error", () => {});
    session.once("close", () => sessions.delete(session));
    waiting.open(session);
    session.on("stream", (stream) => {
      waiting.begin(session);
      stream.once("close", () => waiting.end(session));
    });
    endIdle(session, idleMs);
  });
}

/** Closes a session without open streams after `idleMs` of silence. Limits for open streams are elsewhere. */
function endIdle(session: ServerHttp2Session, idleMs: number): void {
  let streams = 0;
  session.on("stream", (stream) => {
    streams++;
    // The end of a stream does not always restart the timeout.
    stream.once("close", () => --streams === 0 && session.setTimeout(idleMs));
  });
  session.setTimeout(idleMs);
  session.on("timeout", () => streams === 0 && session.close());
}

/** False for "Upgrade: h2c", which RFC 9113 removed: such a request is answered as HTTP/1.1. */
function asksForAnotherProtocol({ headers }: IncomingMessage): boolean {
  return (headers.upgrade ?? "h2c").toLowerCase() !== "h2c";
}

async function stop(
  front: ServerPorts["front"],
  http1: ServerPorts["http1"],
  open: OpenConnections,
  graceMs: number,
): Promise<void> {
  const closed = new Promise<void>((resolve) => front.close(() => resolve()));
  open.sessions.forEach((session) => session.close());
  const sweep = setInterval(() => http1?.closeIdleConnections(), SWEEP_MS);
  // This includes upgraded connections, which node:http no longer tracks.
  const cut = setTimeout(() => open.sockets.forEach((socket) => socket.destroy()), graceMs);
  await closed;
  clearInterval(sweep);
  clearTimeout(cut);
}
