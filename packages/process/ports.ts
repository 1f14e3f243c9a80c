/** Listens on ports of Node, and finds out which version of HTTP a connection uses. @module */
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

/** Listens and returns the port; `port` 0 chooses a free one. @throws if the port is in use */
export async function listenOn(server: Server, host: string, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      server.off("error", reject);
      resolve();
    });
  });
  return (server.address() as AddressInfo).port;
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
