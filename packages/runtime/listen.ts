/** Listens on a port for HTTP/1.1, and reports when no request is running. @module */
import type { Buffer } from "node:buffer";
import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import type { Duplex } from "node:stream";
import { KEEP_ALIVE_MS, listenOn } from "../process/ports.ts";
import { countRunning } from "../process/running.ts";
import { createWaiting } from "../process/waiting.ts";

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
  const waiting = createWaiting(MOST_WAITING);
  const server = createServer({ shouldUpgradeCallback: upgrades.wants }, (request, response) => {
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
