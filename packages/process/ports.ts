/** Ports of Node: listening on one, and telling the versions of HTTP apart that come in on it. Knows no app. @module */
import { Buffer } from "node:buffer";
import type { AddressInfo, Server, Socket } from "node:net";

/**
 * How long a connection may be silent between requests, in milliseconds: longer than the 90 s after which Go's client
 * drops an idle one, so that no end races with a request.
 */
export const KEEP_ALIVE_MS = 120_000;

/** How long a stop waits for the last bytes of an answer before it cuts connections, in milliseconds. */
export const LAST_BYTES_MS = 500;

/** How long the rest of a request is read that nobody wants, so that its sender sees the answer, in milliseconds. */
export const DISCARD_MS = 10_000;

/** What every HTTP/2 connection begins with, and no request of HTTP/1.1. */
const PREFACE = "PRI * HTTP/2.0\r\n";

/** Listens and returns the port; `port` 0 takes a free one. @throws if the port is taken */
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
 * Reads a connection's first bytes, puts them back and says which version of HTTP they begin. A connection that ends,
 * breaks or stays silent for `waitMs` before that is destroyed.
 */
export function sortByVersion(socket: Socket, waitMs: number, sorted: (version: 1 | 2) => void): void {
  const fail = () => void socket.destroy();
  socket.on("error", fail).setTimeout(waitMs, fail);
  const look = (before: Buffer) => {
    const more = socket.read() as Buffer | null;
    if (!more) return fail();
    const first = Buffer.concat([before, more]);
    const isHTTP2 = PREFACE.startsWith(first.toString("latin1", 0, PREFACE.length));
    // "P" alone may still become a POST.
    if (isHTTP2 && first.length < PREFACE.length) return void socket.once("readable", () => look(first));
    socket.off("error", fail).off("timeout", fail).setTimeout(0);
    socket.unshift(first);
    sorted(isHTTP2 ? 2 : 1);
  };
  socket.once("readable", () => look(Buffer.alloc(0)));
}
