/** A proxy before an API server that counts, holds back and cuts what passes through it. For tests. @module */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { Agent, request } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { Credentials } from "../../packages/kube/credentials.ts";

export interface ApiProxy {
  /** URL, plain HTTP on loopback. */
  url: string;
  /** Every request so far: method and path without its query. */
  requests: string[];
  /**
   * Asked for each request. `hold` keeps it from the server, `mute` keeps the answer from the client; the promise that
   * {@link held} returns tells when one of them has happened.
   */
  gate: (line: string) => "pass" | "hold" | "mute";
  held(): Promise<void>;
  /** Breaks every connection; new ones are welcome. */
  cut(): void;
  stop(): void;
}

const LISTS = /^(\/api\/v1|\/apis\/[^/]+\/[^/]+)\/([a-z]+)(\?.*)?$/;

/**
 * Starts a proxy that hands on what it gets, credentials included.
 *
 * @param namespace shows the client nothing but this one: it gets its objects where it lists or watches all namespaces
 */
export async function startApiProxy({ server, current }: Credentials, namespace?: string): Promise<ApiProxy> {
  const { ca } = (await current()).tls;
  const agent = new Agent({ keepAlive: true, ...(ca ? { ca } : {}) });
  const clients = new Set<Socket>();
  let announce = () => {};

  function handle(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const { method = "", url = "", headers } = incoming;
    const line = `${method} ${url.split("?")[0]}${url.includes("watch=true") ? " watch" : ""}`;
    proxy.requests.push(line);
    const verdict = proxy.gate(line);
    if (verdict === "hold") return announce();
    const { host: _, ...passed } = headers;
    const path = namespace === undefined ? url : url.replace(LISTS, `$1/namespaces/${namespace}/$2$3`);
    const forwarded = request(new URL(path, server), { method, headers: passed, agent }, (answer) => {
      if (verdict === "mute") {
        answer.resume().once("end", () => announce());
        return;
      }
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      outgoing.flushHeaders();
      answer.pipe(outgoing);
      answer.once("error", () => outgoing.destroy());
    });
    forwarded.once("error", () => outgoing.destroy());
    outgoing.once("close", () => forwarded.destroy());
    incoming.pipe(forwarded);
  }

  const http = createServer(handle);
  http.on("connection", (socket) => {
    clients.add(socket);
    socket.once("close", () => clients.delete(socket));
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const cut = () => clients.forEach((socket) => socket.destroy());
  const proxy: ApiProxy = {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    requests: [],
    gate: () => "pass",
    held: () => new Promise((resolve) => announce = resolve),
    cut,
    stop() {
      http.close();
      cut();
      agent.destroy();
    },
  };
  return proxy;
}
