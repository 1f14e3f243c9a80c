/** Listens on port 9090: gRPC over plaintext HTTP/2; gRPC-web and Connect over HTTP/1.1. @module */
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { createServer as createHTTP1, type IncomingMessage } from "node:http";
import { createServer as createHTTP2, type Http2ServerRequest, type ServerHttp2Session } from "node:http2";
import { createServer, type Socket } from "node:net";
import { DISCARD_MS, KEEP_ALIVE_MS, LAST_BYTES_MS, listenOn, sortByVersion } from "../process/ports.ts";
import { countRunning } from "../process/running.ts";
import { createWaiting } from "../process/waiting.ts";
import { type Listening, MOST_WAITING } from "./listen.ts";
import { keptOut } from "./http/guard.ts";
import { isForOther, refuseOther } from "./http/otherpod.ts";
import type { Routes } from "./rpc/routes.ts";
import type { TokenCheck } from "./token.ts";

/** How long a new connection may be silent, in milliseconds. */
const FIRST_BYTES_MS = 10_000;
/**
 * Largest number of concurrent calls per HTTP/2 connection. A client with more calls waits, or opens another
 * connection.
 */
const MOST_STREAMS = 1000;

/** Checks before a request reaches the services. Each call also checks the token itself. */
export interface Door {
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
  { token, allowedHosts, podUID = "" }: Door,
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
  const waiting = createWaiting(MOST_WAITING);
  const take = (...[request, response]: Parameters<typeof handler>) => {
    const connection = "stream" in request ? request.stream.session : request.socket;
    running.begin();
    if (connection) waiting.begin(connection);
    response.once("close", () => {
      running.end();
      if (connection) waiting.end(connection);
    }).once("finish", () => giveUp(request));
    // The adapter removes its listeners when the response has ended, but the request body can still fail after that.
    request.on("error", () => {});
    if (isForOther(request.headers, podUID)) return refuseOther(request, response);
    const why = strangeness(request, allowedHosts);
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
  const server = createServer({ noDelay: true }, (socket) => {
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
function giveUp(request: IncomingMessage | Http2ServerRequest): void {
  if ("stream" in request || request.complete) return;
  const timer = setTimeout(() => request.socket.destroy(), DISCARD_MS);
  request.once("close", () => clearTimeout(timer));
}

/** Returns why a request may come from a page of another site; undefined if it does not. */
function strangeness({ headers, socket }: IncomingMessage | Http2ServerRequest, allowedHosts: readonly string[]) {
  const host = headers[":authority"] ?? headers.host;
  return keptOut((name) => (name === "host" ? host : headers[name])?.toString(), socket.localAddress, allowedHosts);
}
