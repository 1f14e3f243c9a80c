/** The API server in memory behind a real port, for processes that find it by a kubeconfig. @module */
import { writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { Api } from "../../packages/kube/api.ts";
import { listenOn } from "../../packages/process/connections.ts";
import { makeTempFolder } from "../tempfolder.ts";
import { type Process, underRole } from "../rights.ts";
import { createFakeApi, type FakeApi } from "./fakeapi.ts";

/** What can be served: whatever answers, and whose watches can be ended. */
type Servable = Api & { endWatches(): void };

export interface ServedApi<A = FakeApi> {
  api: A;
  /** Path of a kubeconfig that leads there. */
  kubeconfig: string;
  server: Server;
  /** Requests whose client has left before they were answered, as `DELETE /path`; watches are not among them. */
  left: string[];
}

/**
 * Serves `api`; it goes with the test.
 *
 * @param processes whose roles in deploy/ the client has; none: it may do everything
 */
export function serveApi(api?: undefined, ...processes: Process[]): Promise<ServedApi>;
export function serveApi<A extends Servable>(api: A, ...processes: Process[]): Promise<ServedApi<A>>;
export async function serveApi(
  served: Servable = createFakeApi(),
  ...[process, ...more]: Process[]
): Promise<ServedApi<Servable>> {
  const api = process === undefined ? served : underRole(served, process, ...more);
  const left: string[] = [];
  const server = createServer(async (request: IncomingMessage, response: ServerResponse) => {
    const url = new URL(request.url ?? "", "http://api");
    const query = Object.fromEntries(url.searchParams);
    if (query["watch"]) {
      const { status, events } = await api.watch(url.pathname, query);
      response.writeHead(status).flushHeaders();
      for await (const event of events) response.write(`${JSON.stringify(event)}\n`);
      return void response.end();
    }
    response.once("close", () => response.writableEnded || left.push(`${request.method} ${url.pathname}`));
    let text = "";
    for await (const chunk of request) text += chunk;
    const method = request.method as "GET";
    const answer = await api.send({ method, path: url.pathname, query, ...(text ? { body: JSON.parse(text) } : {}) });
    // A log is not JSON.
    const isText = typeof answer.body === "string";
    const content = isText ? answer.body as string : JSON.stringify(answer.body);
    response.writeHead(answer.status, { "Content-Type": isText ? "text/plain" : "application/json" }).end(content);
  });
  const port = await listenOn(server, "127.0.0.1", 0);
  onTestFinished(() => {
    api.endWatches();
    server.closeAllConnections();
    server.close();
  });
  const kubeconfig = join(makeTempFolder(), "kubeconfig");
  const config = {
    clusters: [{ name: "c", cluster: { server: `http://127.0.0.1:${port}` } }],
    users: [{ name: "u", user: { token: "t" } }],
    contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
    "current-context": "x",
  };
  writeFileSync(kubeconfig, JSON.stringify(config));
  return { api: served, kubeconfig, server, left };
}
