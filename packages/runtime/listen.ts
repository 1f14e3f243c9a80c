/**
 * Listens on the ports for HTTP/1.1 and gRPC, reports when no request is running, and refuses requests for another Pod.
 * @module
 */
import type { Buffer } from "node:buffer";
import {
  createServer as createHTTP1,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestListener,
} from "node:http";
import { createServer as createHTTP2, type Http2ServerRequest, type ServerHttp2Session } from "node:http2";
import { createServer as createTCP, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { OTHER_POD, POD_UID_HEADER, REASON_HEADER } from "../api/router/protocol.ts";
import {
  createIdleConnections,
  DISCARD_MS,
  KEEP_ALIVE_MS,
  LAST_BYTES_MS,
  listenOn,
  sortByVersion,
} from "../process/connections.ts";
import { countRunning } from "../process/serve.ts";
import { pageRefusal } from "./http/guard.ts";
import type { Routes } from "./rpc/routes.ts";
import type { TokenCheck } from "./token.ts";

/** Largest number of connections per port that wait for a request. */
export const MOST_WAITING = 1024;

/** A port that this process listens on. */
export interface Listening {
  port: number;
  /** Resolves when no request is running. */
  idle(): Promise<void>;
  /** Stops accepting connections, and closes the open ones. */
  close(): Promise<void>;
}

/** Handles connections that change to another protocol, such as WebSocket. */
export interface Upgrades {
  /** Returns false if the request must be handled as a normal one. */
  wants(request: IncomingMessage): boolean;
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): unknown;
}

/** Listens on a port; 0 uses a free one. @throws if the port is in use */
export async function listen(
  listener: RequestListener,
  host: string,
  port: number,
  upgrades: Upgrades = { wants: () => false, upgrade: () => {} },
): Promise<Listening> {
  const running = countRunning();
  const waiting = createIdleConnections(MOST_WAITING);
  const server = createHTTP1({ shouldUpgradeCallback: upgrades.wants }, (request, response) => {
    const { socket } = request;
    running.begin();
    waiting.begin(socket);
    // Emitted after the last byte of the response, or when the client has disconnected.
    response.once("close", running.end).once("close", () => waiting.end(socket));
    listener(request, response);
  });
  const upgraded = new Set<Duplex>();
  server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    running.begin();
    waiting.begin(socket);
    upgraded.add(socket.once("close", () => {
      upgraded.delete(socket);
      running.end();
    }));
    upgrades.upgrade(request, socket, head);
  });
  // An upload may take any time; only the headers must arrive soon.
  server.requestTimeout = 0;
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  server.on("connection", waiting.open);
  const taken = await listenOn(server, host, port);
  return {
    port: taken,
    idle: running.idle,
    close: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      for (const socket of upgraded) socket.destroy();
      await closed;
    },
  };
}

/** How long a new connection may be silent, in milliseconds. */
const FIRST_BYTES_MS = 10_000;
/**
 * Largest number of concurrent calls per HTTP/2 connection. A client with more calls waits, or opens another
 * connection.
 */
const MOST_STREAMS = 1000;

/** Checks before a request reaches the services. Each call also checks the token itself. */
interface GRPCChecks {
  /** Undefined: no token is required. */
  token: TokenCheck | undefined;
  /** Other names of this machine; see packages/process/hosts.ts. */
  allowedHosts: readonly string[];
  /** UID of the Pod of this process; absent or empty: not known. */
  podUID?: string;
}

/** Listens on a port; 0 uses a free one. @throws if the port is in use */
export async function listenGRPC(
  routes: Routes,
  host: string,
  port: number,
  { token, allowedHosts, podUID = "" }: GRPCChecks,
): Promise<Listening> {
  const handler = connectNodeAdapter({ routes });
  const running = countRunning();
  const answer = (...[request, response]: Parameters<typeof handler>) => {
    try {
      handler(request, response);
    } catch {
      // The handler throws if the Host header of the request is not part of a valid URL.
      response.writeHead(400);
      response.end();
    }
  };
  const waiting = createIdleConnections(MOST_WAITING);
  const take = (...[request, response]: Parameters<typeof handler>) => {
    const connection = "stream" in request ? request.stream.session : request.socket;
    running.begin();
    if (connection) waiting.begin(connection);
    response.once("close", () => {
      running.end();
      if (connection) waiting.end(connection);
    }).once("finish", () => closeIfUnread(request));
    // The adapter removes its listeners when the response has ended, but the request body can still fail after that.
    request.on("error", () => {});
    if (isForOther(request.headers, podUID)) return refuseOther(request, response);
    const why = foreignPage(request, allowedHosts);
    if (why === undefined) return answer(request, response);
    let isGone = false;
    response.once("close", () => isGone = true);
    // A page from another origin is allowed if it sends a token. Each call checks whether the token is right.
    void Promise.resolve(token?.(request.headers.authorization) ?? "none").then((verdict) => {
      if (isGone) return;
      if (verdict !== "none") return answer(request, response);
      response.writeHead(403, { "Content-Type": "text/plain; charset=utf-8" });
      response.end(why);
    });
  };
  const http1 = createHTTP1(take);
  http1.requestTimeout = 0;
  http1.keepAliveTimeout = KEEP_ALIVE_MS;
  const sessions = new Set<ServerHttp2Session>();
  const http2 = createHTTP2({ settings: { maxConcurrentStreams: MOST_STREAMS } }, take);
  http2.on("session", (session) => {
    waiting.open(session);
    sessions.add(session.once("close", () => sessions.delete(session)));
  });
  const sockets = new Set<Socket>();
  const server = createTCP({ noDelay: true }, (socket) => {
    sockets.add(socket.once("close", () => sockets.delete(socket)));
    waiting.open(socket);
    sortByVersion(socket, FIRST_BYTES_MS, (version) => {
      // From here on, the HTTP/2 session is counted instead of its socket.
      if (version === 2) waiting.begin(socket);
      (version === 2 ? http2 : http1).emit("connection", socket);
    });
  });
  const taken = await listenOn(server, host, port);
  return {
    port: taken,
    idle: running.idle,
    close: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const session of sessions) session.close();
      http1.closeIdleConnections();
      // First tell clients that no more requests are accepted, then close the remaining connections.
      const cut = setTimeout(() => sockets.forEach((socket) => socket.destroy()), LAST_BYTES_MS);
      await closed;
      clearTimeout(cut);
    },
  };
}

/**
 * The rest of an HTTP/1.1 request body arrives before the next request. If the client does not send it, the connection
 * is closed.
 */
function closeIfUnread(request: IncomingMessage | Http2ServerRequest): void {
  if ("stream" in request || request.complete) return;
  const timer = setTimeout(() => request.socket.destroy(), DISCARD_MS);
  request.once("close", () => clearTimeout(timer));
}

/** Returns why a request may come from a page of another site; undefined if it does not. */
function foreignPage({ headers, socket }: IncomingMessage | Http2ServerRequest, allowedHosts: readonly string[]) {
  const host = headers[":authority"] ?? headers.host;
  return pageRefusal((name) => (name === "host" ? host : headers[name])?.toString(), socket.localAddress, allowedHosts);
}

const POD_UID_KEY = POD_UID_HEADER.toLowerCase();

/**
 * Tells whether a request names another Pod.
 *
 * @param podUID this Pod's UID; empty: unknown, so that no request is refused
 */
function isForOther(headers: IncomingHttpHeaders, podUID: string): boolean {
  const meant = headers[POD_UID_KEY];
  return podUID !== "" && meant !== undefined && meant !== podUID;
}

/** Answers a request for another Pod with 421. Nothing of the request is carried out. */
function refuseOther(
  request: IncomingMessage | Http2ServerRequest,
  response: { writeHead(status: number, headers: Record<string, string>): unknown; end(text: string): unknown },
): void {
  response.writeHead(421, {
    "Content-Type": "text/plain; charset=utf-8",
    [REASON_HEADER]: OTHER_POD,
    // Nothing reads the rest of the body, so the connection cannot be used again.
    ...("stream" in request ? {} : { Connection: "close" }),
  });
  response.end("Cannot take the request: it is for another Pod, which had this address before\n");
}

/** Wraps a listener so that it gets only requests for this Pod. */
export function forThisPod(podUID: string, listener: RequestListener): RequestListener {
  return (request, response) =>
    isForOther(request.headers, podUID) ? refuseOther(request, response) : listener(request, response);
}

/** Wraps upgrades so that they take only requests for this Pod. The listener answers all others. */
export function upgradesForThisPod(podUID: string, upgrades: Upgrades): Upgrades {
  return { ...upgrades, wants: (request) => !isForOther(request.headers, podUID) && upgrades.wants(request) };
}
