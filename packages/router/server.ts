/** The ports that clients talk to: HTTP/1.1 and HTTP/2, in the clear or with TLS. Knows no sandbox. @module */
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
import { listenOn, sortByVersion } from "../process/ports.ts";
import { createWaiting, type Waiting } from "../process/waiting.ts";
import type { Handler } from "./handle.ts";
import { MOST_HEADER_BYTES } from "./proxy/settings.ts";
import { cutOff, isHttp2 } from "./proxy/versions.ts";
import { workFor } from "./survive.ts";

/** In PEM. */
export interface Certificate {
  cert: Buffer;
  key: Buffer;
}

/** Where to listen; `port` 0 takes a free one. */
export interface ServerOptions {
  host: string;
  port: number;
  /** Longest wait for running requests on a stop, in milliseconds. */
  graceMs: number;
  /** HTTP/2 in the clear as well. */
  h2c: boolean;
  /** How long an HTTP/2 connection may be silent that has no stream open, in milliseconds. @default {KEEP_ALIVE_MS} */
  idleMs?: number;
  /** Connections that wait for a request at a time. @default {MOST_WAITING} */
  mostWaiting?: number;
  /** Certificate and key in PEM; absent: no TLS. With TLS there is HTTP/2 anyway. */
  tls?: Certificate;
}

/** A port that listens. */
export interface Listening {
  port: number;
  /** Takes no more connections, lets running requests end for as long as `graceMs`, then cuts them. */
  stop(): Promise<void>;
  /** Takes a new certificate for connections to come; nothing without TLS. */
  renew(tls: Certificate): void;
}

/**
 * How long a connection may be silent between requests, in milliseconds. Load balancers keep theirs for 60 s (AWS) to 600 s
 * (Google Cloud): they are to end them, as a request may already be on its way where the router does.
 */
const KEEP_ALIVE_MS = 620_000;

const HTTP1 = {
  keepAliveTimeout: KEEP_ALIVE_MS,
  headersTimeout: 60_000,
  // A body may take as long as it takes: the proxy ends those in which nothing moves.
  requestTimeout: 0,
  maxHeaderSize: MOST_HEADER_BYTES,
  shouldUpgradeCallback: asksForAnotherProtocol,
};
/** Of one connection at a time: each costs its headers and its record, and only limits of ours end them. */
const HTTP2 = { settings: { maxConcurrentStreams: 250 } };
const SWEEP_MS = 50;
/** Connections that wait for a request at a time: with the beginning of a head each has up to 100 kB. */
const MOST_WAITING = 2000;
/** Requests of HTTP/1.1 on one connection whose answers have not ended: they come one after the other, whoever waits or not. */
const MOST_PIPELINED = 32;
/** How long a handshake of TLS may take, in milliseconds. */
const HANDSHAKE_MS = 10_000;

/** Listens. @throws if the port is taken, or certificate and key do not fit */
export async function listen(handler: Handler, options: ServerOptions): Promise<Listening> {
  const { host, port, graceMs, tls } = options;
  const waiting = createWaiting(options.mostWaiting ?? MOST_WAITING);
  const open: Open = { sockets: new Set(), sessions: new Set(), waiting, idleMs: options.idleMs ?? KEEP_ALIVE_MS };
  const { front, http1 } = tls ? createTlsServer(handler, tls, open) : createPlainServer(handler, options.h2c, open);
  front.on(tls ? "secureConnection" : "connection", (socket: Socket) => {
    open.sockets.add(socket);
    socket.once("close", () => open.sockets.delete(socket));
    // A session stands for its socket.
    if (!("alpnProtocol" in socket) || socket.alpnProtocol !== "h2") waiting.open(socket);
  });
  const taken = await listenOn(front, host, port);
  // A connection that could not be taken (too many files) is no reason to end all others.
  front.on("error", () => {});
  return {
    port: taken,
    stop: () => stop(front, http1, open, graceMs),
    renew: (context) => "setSecureContext" in front && front.setSecureContext(context),
  };
}

/** Connections that are open: all of them, and those that speak HTTP/2. */
interface Open {
  sockets: Set<Socket>;
  sessions: Set<ServerHttp2Session>;
  waiting: Waiting;
  /** How long one of the sessions may be silent that has no stream open, in milliseconds. */
  idleMs: number;
}

/** What takes connections, and what knows which of them are idle: the same, but for HTTP/2 in the clear. */
interface Ports {
  front: Server | NetServer | Http2SecureServer;
  http1: Pick<Server, "closeIdleConnections"> | undefined;
}

function createTlsServer(handler: Handler, tls: NonNullable<ServerOptions["tls"]>, open: Open): Ports {
  const server = createSecureServer({ ...tls, ...HTTP1, ...HTTP2, allowHTTP1: true, handshakeTimeout: HANDSHAKE_MS });
  serveWith(server, handler, open);
  return { front: server, http1: undefined };
}

function createPlainServer(handler: Handler, h2c: boolean, open: Open): Ports {
  const http1 = createServer(HTTP1);
  serveWith(http1, handler, open);
  if (!h2c) return { front: http1, http1 };
  const http2 = createHttp2Server(HTTP2);
  serveWith(http2, handler, open);
  // It does not listen itself, and keeps no count of its connections before it is told so.
  http1.emit("listening");
  const front = createNetServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    sortByVersion(socket, HTTP1.headersTimeout, (version) => {
      // HTTP/2 knows no half of a connection; handed over like this, its session does not notice by itself.
      if (version === 2) socket.once("end", () => socket.destroy());
      if (version === 2) open.waiting.begin(socket);
      (version === 2 ? http2 : http1).emit("connection", socket);
    });
  });
  front.once("close", () => http1.close());
  return { front, http1 };
}

type Events = Pick<EventEmitter, "on">;

function serveWith(server: Events, handler: Handler, { sessions, waiting, idleMs }: Open): void {
  const take = (request: IncomingMessage, response: ServerResponse, expectsContinue: boolean) => {
    const { socket } = request;
    // Of a session its streams are counted.
    if (!isHttp2(request)) {
      if (waiting.begin(socket) > MOST_PIPELINED) return void socket.destroy();
      response.once("close", () => waiting.end(socket));
    }
    workFor(() => cutOff(response), () => handler.request(request, response, expectsContinue));
  };
  server.on("request", (request: IncomingMessage, response: ServerResponse) => take(request, response, false));
  server.on("checkContinue", (request: IncomingMessage, response: ServerResponse) => take(request, response, true));
  server.on("upgrade", (request: IncomingMessage, socket: Socket, head: Uint8Array) => {
    waiting.begin(socket);
    workFor(() => socket.destroy(), () => handler.upgrade(request, socket, head));
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

/** Ends a session that is silent for so long with no stream open; streams may be as silent as they are let elsewhere. */
function endIdle(session: ServerHttp2Session, idleMs: number): void {
  let streams = 0;
  session.on("stream", (stream) => {
    streams++;
    // What ends a stream does not always begin the time anew.
    stream.once("close", () => --streams === 0 && session.setTimeout(idleMs));
  });
  session.setTimeout(idleMs);
  session.on("timeout", () => streams === 0 && session.close());
}

/** HTTP/2 by Upgrade is what RFC 9113 has taken back; such a request is answered as the HTTP/1.1 that it is. */
function asksForAnotherProtocol({ headers }: IncomingMessage): boolean {
  return (headers.upgrade ?? "h2c").toLowerCase() !== "h2c";
}

async function stop(front: Ports["front"], http1: Ports["http1"], open: Open, graceMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => front.close(() => resolve()));
  open.sessions.forEach((session) => session.close());
  const sweep = setInterval(() => http1?.closeIdleConnections(), SWEEP_MS);
  // Upgraded connections, too: node:http has forgotten them.
  const cut = setTimeout(() => open.sockets.forEach((socket) => socket.destroy()), graceMs);
  await closed;
  clearInterval(sweep);
  clearTimeout(cut);
}
