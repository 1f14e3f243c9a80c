/** Listens on a port for HTTP/1.1 and stops without cutting what runs; knows no app. @module */
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";

/** A port that is listened on. */
export interface Listening {
  port: number;
  /** Resolves when no request runs. */
  idle(): Promise<void>;
  /** Takes no more connections and drops those there are. */
  close(): Promise<void>;
}

/** How long a connection may be silent between requests, in milliseconds; Go's client drops one after 90 s. */
const KEEP_ALIVE_MS = 120_000;

/** Listens; `port` 0 takes a free one. @throws if the port is taken */
export async function listen(listener: RequestListener, host: string, port: number): Promise<Listening> {
  const running = countRunning();
  const server = createServer((request, response) => {
    running.begin();
    // With the last byte of the answer, or when the client is gone.
    response.once("close", running.end);
    listener(request, response);
  });
  // An upload may take as long as it takes; only the headers have to come soon.
  server.requestTimeout = 0;
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  await open(server, host, port);
  return {
    port: (server.address() as AddressInfo).port,
    idle: running.idle,
    close: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}

async function open(server: Server, host: string, port: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

function countRunning() {
  let running = 0;
  let onIdle = () => {};
  return {
    begin: () => {
      running++;
    },
    end: () => {
      if (--running === 0) onIdle();
    },
    idle: () => new Promise<void>((resolve) => running === 0 ? resolve() : onIdle = resolve),
  };
}
