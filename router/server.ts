/** The port that clients talk to. Knows no sandbox. @module */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
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
  });
  server.on("request", (request, response) => handler(request, response, false));
  server.on("checkContinue", (request, response) => handler(request, response, true));
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, resolve);
  });
  return { port: (server.address() as AddressInfo).port, stop: () => stop(server, graceMs) };
}

async function stop(server: Server, graceMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS);
  const cut = setTimeout(() => server.closeAllConnections(), graceMs);
  await closed;
  clearInterval(sweep);
  clearTimeout(cut);
}
