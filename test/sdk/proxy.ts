/** A way to a port of loopback that breaks when it is told to. @module */
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
  /** The next connection breaks once it has brought so many bytes of an answer. */
  breakAfter(...bytes: number[]): void;
  /** Breaks what is open, and new connections at once, until this is called with false. */
  refuse(yes: boolean): void;
}

/** Starts it. */
export async function aProxy(target: number): Promise<Proxy> {
  const open = new Set<Socket>();
  const limits: number[] = [];
  let connections = 0;
  let refusing = false;
  const server = createServer((client) => {
    if (refusing) return void client.destroy();
    connections++;
    const behind = connect(target, "127.0.0.1");
    let left = limits.shift() ?? Infinity;
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
      client.write(chunk.subarray(0, left), () => left <= 0 && client.destroy());
      left -= chunk.length;
      if (left <= 0) behind.pause();
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
    breakAfter: (...bytes) => void limits.push(...bytes),
    refuse: (yes) => {
      refusing = yes;
      if (yes) breakOff();
    },
  };
}
