/** Port 9090: gRPC over plaintext HTTP/2, and on the same port HTTP/1.1 for gRPC-web and Connect. Knows no service. @module */
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

/** How long a connection may stay silent before its first bytes, in milliseconds. */
const FIRST_BYTES_MS = 10_000;
/** Calls at a time on one connection of HTTP/2; who has more waits, or opens another. */
const MOST_STREAMS = 1000;

/** Who is let in; each call asks for the token itself. */
export interface Door {
  /** Undefined: no token is asked for. */
  token: TokenCheck | undefined;
  /** Names of this machine, see packages/process/hosts.ts. */
  allowedHosts: readonly string[];
  /** UID of this process's Pod; absent or empty: unknown. */
  podUID?: string;
}

/** Listens; `port` 0 takes a free one. @throws if the port is taken */
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
      // It makes a URL of what the client calls the host.
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
    // The adapter stops listening when the answer has ended; a body that is still coming can break after that.
    request.on("error", () => {});
    if (isForOther(request.headers, podUID)) return refuseOther(request, response);
    const why = strangeness(request, allowedHosts);
    if (why === undefined) return answer(request, response);
    let isGone = false;
    response.once("close", () => isGone = true);
    // A page that has a token may come from anywhere: whether it is the right one is for the call to say.
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
      // From here on its session stands for it.
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
      // Callers are told first that nothing more is taken; then whatever still hangs on is cut.
      const cut = setTimeout(() => sockets.forEach((socket) => socket.destroy()), LAST_BYTES_MS);
      await closed;
      clearTimeout(cut);
    },
  };
}

/** What is left of a request of HTTP/1.1 comes before the next one: whoever does not send it keeps no connection. */
function giveUp(request: IncomingMessage | Http2ServerRequest): void {
  if ("stream" in request || request.complete) return;
  const timer = setTimeout(() => request.socket.destroy(), DISCARD_MS);
  request.once("close", () => clearTimeout(timer));
}

/** Says why a request may be one of a page of somebody else; undefined if it is none. */
function strangeness({ headers, socket }: IncomingMessage | Http2ServerRequest, allowedHosts: readonly string[]) {
  const host = headers[":authority"] ?? headers.host;
  return keptOut((name) => (name === "host" ? host : headers[name])?.toString(), socket.localAddress, allowedHosts);
}
