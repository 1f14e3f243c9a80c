/** Port 9090: gRPC over plaintext HTTP/2, and on the same port HTTP/1.1 for gRPC-web and Connect. Knows no service. @module */
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { Buffer } from "node:buffer";
import { createServer as createHTTP1 } from "node:http";
import { createServer as createHTTP2, type ServerHttp2Session } from "node:http2";
import { type AddressInfo, createServer, type Socket } from "node:net";
import type { Listening } from "./listen.ts";
import type { Routes } from "./rpc/routes.ts";

/** Every HTTP/2 connection begins with this; no HTTP/1.1 request does. */
const PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/** How much of it tells: `PRI` is no method of HTTP/1.1. */
const TELLING_BYTES = 3;
/** How long a connection may stay silent before its first bytes, in milliseconds. */
const FIRST_BYTES_MS = 10_000;
const KEEP_ALIVE_MS = 120_000;
/** How long a close waits for the last bytes, in milliseconds. */
const LAST_BYTES_MS = 200;

/** Listens; `port` 0 takes a free one. @throws if the port is taken */
export async function listenGRPC(routes: Routes, host: string, port: number): Promise<Listening> {
  const handler = connectNodeAdapter({ routes });
  const running = countRunning();
  const http1 = createHTTP1((request, response) => {
    response.once("close", running.begin());
    handler(request, response);
  });
  http1.requestTimeout = 0;
  http1.keepAliveTimeout = KEEP_ALIVE_MS;
  const sessions = new Set<ServerHttp2Session>();
  const http2 = createHTTP2((request, response) => {
    response.once("close", running.begin());
    handler(request, response);
  });
  http2.on("session", (session) => sessions.add(session.once("close", () => sessions.delete(session))));
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.once("close", () => sockets.delete(socket)));
    sortConnection(socket, (version) => (version === 2 ? http2 : http1).emit("connection", socket));
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => resolve(void server.off("error", reject)));
  });
  return {
    port: (server.address() as AddressInfo).port,
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

/** Reads the first bytes, puts them back and says which version of HTTP they begin. */
function sortConnection(socket: Socket, sorted: (version: 1 | 2) => void): void {
  socket.setNoDelay(true);
  socket.on("error", () => socket.destroy());
  const tooLate = setTimeout(() => socket.destroy(), FIRST_BYTES_MS);
  socket.once("close", () => clearTimeout(tooLate));
  let first = Buffer.alloc(0);
  const look = () => {
    const more: Buffer | null = socket.read();
    if (more === null) return;
    first = Buffer.concat([first, more]);
    if (first.length < TELLING_BYTES) return;
    clearTimeout(tooLate);
    socket.off("readable", look);
    socket.unshift(first);
    sorted(PREFACE.startsWith(first.toString("latin1", 0, PREFACE.length)) ? 2 : 1);
  };
  socket.on("readable", look);
}

function countRunning() {
  let running = 0;
  let onIdle = () => {};
  const end = () => {
    if (--running === 0) onIdle();
  };
  return {
    begin: () => {
      running++;
      return end;
    },
    idle: () => new Promise<void>((resolve) => running === 0 ? resolve() : onIdle = resolve),
  };
}
