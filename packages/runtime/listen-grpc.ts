/** Port 9090: gRPC over plaintext HTTP/2, and on the same port HTTP/1.1 for gRPC-web and Connect. Knows no service. @module */
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { createServer as createHTTP1 } from "node:http";
import { createServer as createHTTP2, type ServerHttp2Session } from "node:http2";
import { createServer, type Socket } from "node:net";
import { KEEP_ALIVE_MS, listenOn, sortByVersion } from "../process/ports.ts";
import { countRunning } from "../process/running.ts";
import type { Listening } from "./listen.ts";
import type { Routes } from "./rpc/routes.ts";

/** How long a connection may stay silent before its first bytes, in milliseconds. */
const FIRST_BYTES_MS = 10_000;
/** How long a close waits for the last bytes, in milliseconds. */
const LAST_BYTES_MS = 200;

/** Listens; `port` 0 takes a free one. @throws if the port is taken */
export async function listenGRPC(routes: Routes, host: string, port: number): Promise<Listening> {
  const handler = connectNodeAdapter({ routes });
  const running = countRunning();
  const take = (...[request, response]: Parameters<typeof handler>) => {
    running.begin();
    response.once("close", running.end);
    // The adapter stops listening when the answer has ended; a body that is still coming can break after that.
    request.on("error", () => {});
    try {
      handler(request, response);
    } catch {
      // It makes a URL of what the client calls the host.
      response.writeHead(400);
      response.end();
    }
  };
  const http1 = createHTTP1(take);
  http1.requestTimeout = 0;
  http1.keepAliveTimeout = KEEP_ALIVE_MS;
  const sessions = new Set<ServerHttp2Session>();
  const http2 = createHTTP2(take);
  http2.on("session", (session) => sessions.add(session.once("close", () => sessions.delete(session))));
  const sockets = new Set<Socket>();
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket.once("close", () => sockets.delete(socket)));
    sortByVersion(socket, FIRST_BYTES_MS, (version) => (version === 2 ? http2 : http1).emit("connection", socket));
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
