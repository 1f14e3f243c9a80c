/** The port that clients talk to. Knows no sandbox. @module */
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Handler } from "./handle.ts";

/** Where to listen; `port` 0 takes a free one. */
export interface ServerOptions {
  host: string;
  port: number;
  /** Longest wait for running requests on a stop, in milliseconds. */
  graceMs: number;
}

/** A port that listens. */
export interface Listening {
  port: number;
  /** Takes no more connections, lets running requests end for as long as `graceMs`, then cuts them. */
  stop(): Promise<void>;
}

/** Longer than load balancers keep idle connections. */
const KEEP_ALIVE_MS = 120_000;
const HEAD_MS = 60_000;
const MAX_HEAD_BYTES = 64 * 1024;
const SWEEP_MS = 50;

/** Listens. @throws if the port is taken */
export async function listen(handler: Handler, { host, port, graceMs }: ServerOptions): Promise<Listening> {
  const server = createServer({
    keepAliveTimeout: KEEP_ALIVE_MS,
    headersTimeout: HEAD_MS,
    // A body may take as long as it takes: the proxy ends those in which nothing moves.
    requestTimeout: 0,
    maxHeaderSize: MAX_HEAD_BYTES,
    shouldUpgradeCallback: asksForAnotherProtocol,
  });
  const upgraded = new Set<Socket>();
  server.on("request", (request, response) => handler.request(request, response, false));
  server.on("checkContinue", (request, response) => handler.request(request, response, true));
  server.on("upgrade", (request: IncomingMessage, socket: Socket, head: Uint8Array) => {
    upgraded.add(socket);
    socket.once("close", () => upgraded.delete(socket));
    handler.upgrade(request, socket, head);
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, resolve);
  });
  return { port: (server.address() as AddressInfo).port, stop: () => stop(server, upgraded, graceMs) };
}

/** HTTP/2 by Upgrade is what RFC 9113 has taken back; such a request is answered as the HTTP/1.1 that it is. */
function asksForAnotherProtocol({ headers }: IncomingMessage): boolean {
  return (headers.upgrade ?? "h2c").toLowerCase() !== "h2c";
}

async function stop(server: Server, upgraded: ReadonlySet<Socket>, graceMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS);
  const cut = setTimeout(() => {
    server.closeAllConnections();
    // node:http forgets the connections that have been handed over.
    upgraded.forEach((socket) => socket.destroy());
  }, graceMs);
  await closed;
  clearInterval(sweep);
  clearTimeout(cut);
}
