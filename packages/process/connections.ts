/** Listens on ports of Node, finds out the version of HTTP of a connection, and limits idle connections. @module */
import { Buffer } from "node:buffer";
import type { AddressInfo, Server, Socket } from "node:net";

/**
 * How long a connection may be idle between requests, in milliseconds. Go's client closes an idle connection after 90
 * s. This is longer, so that the server never closes a connection at the moment of a new request.
 */
export const KEEP_ALIVE_MS = 120_000;

/** How long a stop waits for the last bytes of an answer before it closes connections, in milliseconds. */
export const LAST_BYTES_MS = 500;

/** How long the unwanted rest of a request is read, so that its sender can receive the answer, in milliseconds. */
export const DISCARD_MS = 10_000;

/** The first bytes of every HTTP/2 connection. No HTTP/1.1 request begins like this. */
const PREFACE = "PRI * HTTP/2.0\r\n";

/**
 * Listens and returns the port; `port` 0 chooses a free one.
 *
 * @param host an address, or the absolute path of a new Unix socket, for which `port` has no meaning
 * @throws if the port is in use
 */
export async function listenOn(server: Server, host: string, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(host.startsWith("/") ? { path: host } : { port, host }, () => {
      server.off("error", reject);
      resolve();
    });
  });
  const address = server.address() as AddressInfo | string;
  return typeof address === "string" ? 0 : address.port;
}

/**
 * Reads the first bytes of a connection, puts them back, and reports which version of HTTP they begin. A connection
 * that ends, breaks or is silent for `waitMs` before that is destroyed.
 */
export function sortByVersion(socket: Socket, waitMs: number, sorted: (version: 1 | 2) => void): void {
  const fail = () => void socket.destroy();
  socket.on("error", fail).setTimeout(waitMs, fail);
  const look = (before: Buffer) => {
    const more = socket.read() as Buffer | null;
    if (!more) return fail();
    const first = Buffer.concat([before, more]);
    const isHTTP2 = PREFACE.startsWith(first.toString("latin1", 0, PREFACE.length));
    // "P" alone may be the beginning of a POST.
    if (isHTTP2 && first.length < PREFACE.length) return void socket.once("readable", () => look(first));
    socket.off("error", fail).off("timeout", fail).setTimeout(0);
    socket.unshift(first);
    sorted(isHTTP2 ? 2 : 1);
  };
  socket.once("readable", () => look(Buffer.alloc(0)));
}

/** A connection, or a session of HTTP/2. */
interface Connection {
  readonly destroyed: boolean;
  destroy(): unknown;
  once(event: "close", listener: () => void): unknown;
}

/** Tracks connections. Connections that were not passed to `open` are ignored. */
export interface IdleConnections {
  /** A connection was opened and waits for its first request. */
  open(connection: Connection): void;
  /** A request has begun on the connection. Returns the number of its running requests. */
  begin(connection: Connection): number;
  /** A request has ended on the connection. If it was the last one, the connection waits again. */
  end(connection: Connection): void;
}

/**
 * Creates the tracker. A token is checked only when a request arrives. So a waiting connection costs a client nothing,
 * but costs the process 10 to 100 kB.
 *
 * @param most connections that may wait at the same time
 */
export function createIdleConnections(most: number): IdleConnections {
  /** Running requests, by connection. */
  const running = new Map<Connection, number>();
  /** In the order in which they began to wait. */
  const waiting = new Set<Connection>();
  const wait = (connection: Connection) => {
    waiting.add(connection);
    if (waiting.size <= most) return;
    const [oldest] = waiting;
    if (!oldest) return;
    waiting.delete(oldest);
    oldest.destroy();
  };
  return {
    open(connection) {
      running.set(connection, 0);
      connection.once("close", () => {
        running.delete(connection);
        waiting.delete(connection);
      });
      wait(connection);
    },
    begin(connection) {
      const count = running.get(connection);
      if (count === undefined) return 0;
      waiting.delete(connection);
      running.set(connection, count + 1);
      return count + 1;
    },
    end(connection) {
      const count = running.get(connection);
      if (count === undefined) return;
      running.set(connection, count - 1);
      if (count === 1 && !connection.destroyed) wait(connection);
    },
  };
}
