/** Runs the MCP server on a port, and stops it. @module */
import type { Server } from "node:http";
import { createAdaptorServer } from "@hono/node-server";
import { KEEP_ALIVE_MS, listenOn } from "../../process/ports.ts";
import { type Address, hostPort } from "./http/address.ts";
import { type AppParts, createMCPApp, MCP_PATH } from "./http/app.ts";
import { createSourceCheck, type Sources } from "./http/rebinding.ts";

/** Options of the server. */
export interface HTTPOptions extends Omit<AppParts, "refusal"> {
  address: Address;
  sources: Sources;
}

/** A running server. */
export interface HTTPServer {
  url: string;
  port: number;
  /** Ends all sessions and closes all connections. */
  stop(): Promise<void>;
}

/** Largest number of connections at a time; each session has two or three. */
const MOST_CONNECTIONS = 1024;

/** Starts listening. @throws {Error} if the port is in use */
export async function serveHTTP({ address, sources, ...parts }: HTTPOptions): Promise<HTTPServer> {
  const { app, stop } = createMCPApp({ ...parts, refusal: createSourceCheck(address, sources) });
  const server = createAdaptorServer({ fetch: app.fetch }) as Server;
  server.maxConnections = MOST_CONNECTIONS;
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  const port = await listenOn(server, address.host, address.port);
  return {
    url: `http://${hostPort(address.host, port)}${MCP_PATH}`,
    port,
    async stop() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      await stop();
      server.closeAllConnections();
      await closed;
    },
  };
}
