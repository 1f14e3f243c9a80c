/** A way to a port of loopback that breaks on demand. @module */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { onTestFinished } from "vitest";

/** A proxy that goes when the test ends. */
export interface Proxy {
  port: number;
  /** Connections so far. */
  connections(): number;
  /** Breaks what is open now. */
  breakOff(): void;
  /** After so many bytes of answers, over all connections, the one that brought the last of them breaks; then after the next number. */
  breakAfter(first: number, ...more: number[]): void;
  /** Breaks what is open, and new connections at once, until this is called with false. */
  refuse(yes: boolean): void;
}

/** Starts it. */
export async function aProxy(target: number): Promise<Proxy> {
  const open = new Set<Socket>();
  const limits: number[] = [];
  let left = Infinity;
  let connections = 0;
  let refusing = false;
  const server = createServer((client) => {
    if (refusing) return void client.destroy();
    connections++;
    const behind = connect(target, "127.0.0.1");
    for (const socket of [client, behind]) {
      open.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        open.delete(socket);
        client.destroy();
        behind.destroy();
      });
    }
    client.pipe(behind);
    behind.on("data", (chunk) => {
      if (chunk.length < left) {
        left -= chunk.length;
        return void client.write(chunk);
      }
      behind.pause();
      client.write(chunk.subarray(0, left), () => client.destroy());
      left = limits.shift() ?? Infinity;
      return undefined;
    });
    return undefined;
  });
  const breakOff = () => open.forEach((socket) => socket.destroy());
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    breakOff();
    server.close();
  });
  return {
    port: (server.address() as AddressInfo).port,
    connections: () => connections,
    breakOff,
    breakAfter: (first, ...more) => {
      left = first;
      limits.splice(0, Infinity, ...more);
    },
    refuse: (yes) => {
      refusing = yes;
      if (yes) breakOff();
    },
  };
}
