/** Listens on a port for HTTP/1.1 and stops without cutting what runs; knows no app. @module */
import type { Buffer } from "node:buffer";
import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import type { Duplex } from "node:stream";
import { KEEP_ALIVE_MS, listenOn } from "../process/ports.ts";
import { countRunning } from "../process/running.ts";
import { createWaiting } from "../process/waiting.ts";

/** Connections on one port that wait for a request, at a time. */
export const MOST_WAITING = 1024;

/** A port that is listened on. */
export interface Listening {
  port: number;
  /** Resolves when no request runs. */
  idle(): Promise<void>;
  /** Takes no more connections and drops those there are. */
  close(): Promise<void>;
}

/** Takes over connections for another protocol, such as WebSocket. */
export interface Upgrades {
  /** False: the request is answered as any other. */
  wants(request: IncomingMessage): boolean;
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): unknown;
}

/** Listens; `port` 0 takes a free one. @throws if the port is taken */
export async function listen(
  listener: RequestListener,
  host: string,
  port: number,
  upgrades: Upgrades = { wants: () => false, upgrade: () => {} },
): Promise<Listening> {
  const running = countRunning();
  const waiting = createWaiting(MOST_WAITING);
  const server = createServer({ shouldUpgradeCallback: upgrades.wants }, (request, response) => {
    const { socket } = request;
    running.begin();
    waiting.begin(socket);
    // With the last byte of the answer, or when the client is gone.
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
  // An upload may take as long as it takes; only the headers have to come soon.
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
