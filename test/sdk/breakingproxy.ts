/** A TCP proxy whose connections can be cut, for what has to survive that. @module */
import { connect, createServer, type Socket } from "node:net";
import { onTestFinished } from "vitest";
import { listenOn } from "../../packages/process/connections.ts";

/** A proxy on loopback. */
export interface BreakingProxy {
  port: number;
  /** Cuts all connections there are. */
  cut(): void;
  /** Cuts each connection once so many bytes came back through it; undefined: never. */
  cutAfter(bytes: number | undefined): void;
  /** Connections so far. */
  count(): number;
}

/** Starts it in front of a port of loopback; it goes when the test ends. */
export async function breakingProxy(target: number): Promise<BreakingProxy> {
  const pairs = new Set<[Socket, Socket]>();
  let limit: number | undefined;
  let count = 0;
  const server = createServer((client) => {
    count++;
    const behind = connect(target, "127.0.0.1");
    const pair: [Socket, Socket] = [client, behind];
    pairs.add(pair);
    const end = () => {
      pairs.delete(pair);
      for (const socket of pair) socket.destroy();
    };
    let bytes = 0;
    client.on("error", end).on("close", end);
    behind.on("error", end).on("close", end);
    client.pipe(behind);
    behind.on("data", (chunk: Uint8Array) => {
      bytes += chunk.length;
      client.write(limit === undefined ? chunk : chunk.subarray(0, Math.max(0, chunk.length - (bytes - limit))));
      if (limit !== undefined && bytes > limit) client.destroySoon();
    });
  });
  const port = await listenOn(server, "127.0.0.1", 0);
  const cut = () => pairs.forEach(([client]) => client.destroy());
  onTestFinished(() => {
    cut();
    server.close();
  });
  return { port, cut, cutAfter: (bytes) => limit = bytes, count: () => count };
}
