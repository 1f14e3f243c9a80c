/** Servers of this machine, the proxy in front of them, and clients that use it. @module */
import { createServer as createHttpServer, request as httpRequest } from "node:http";
import { createSecureServer } from "node:http2";
import { request as httpsRequest } from "node:https";
import { type AddressInfo, connect, createServer as createTcpServer, type Server, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { text } from "node:stream/consumers";
import { connect as connectTls, type ConnectionOptions, type TLSSocket } from "node:tls";
import { onTestFinished } from "vitest";
import { WebSocketServer } from "ws";
import { type Answer, answer, type Question, type World } from "../../packages/egress/answer.ts";
import { policyFrom } from "../../packages/api/egress/policy.ts";
import { type Proxy, selfSigned, startProxy } from "./mitmproxy.ts";

export const SECRET = "s3cr3t-value";
const NAMES = ["api.example", "pypi.example", "other.example", "private.example"];

export interface Seen {
  host: string | undefined;
  version: string;
  path: string;
  headers: Record<string, string | string[] | undefined>;
  body: string;
}

export interface Stage {
  proxy: Proxy;
  /** Requests that have reached a server. */
  seen: Seen[];
  /** The certificate of the servers, PEM. */
  cert: string;
  questions: Question[];
  /** The port of a server, by the one that sandboxes ask for. */
  ports: Record<number, number>;
  /** Nothing listens where the policy sends the proxy. */
  isDown: boolean;
}

export const open: Server[] = [];

export async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  open.push(server);
  return (server.address() as AddressInfo).port;
}

/** A certificate for these names, which is its own authority. */
export function serverCertificate(names: readonly string[]): { key: string; cert: string } {
  return selfSigned("servers", `subjectAltName=${names.map((name) => `DNS:${name}`).join(",")}`);
}

/**
 * Servers for the ports 443, 80 and 22 of all names, and the proxy in front of them.
 *
 * @param trusted certificate that the proxy trusts in place of that of these servers, PEM
 */
export async function aStage(claim?: string, trusted?: string): Promise<Stage> {
  const { key, cert } = serverCertificate(NAMES);
  const seen: Seen[] = [];
  // deno-lint-ignore no-explicit-any -- requests and answers of HTTP/1 and HTTP/2 have these fields in common.
  const onRequest = async (request: any, response: any) => {
    const { url = "", headers, httpVersion } = request;
    const host = headers[":authority"] ?? headers.host;
    seen.push({ host, version: httpVersion, path: url, headers, body: await text(request) });
    if (url === "/redirect") response.writeHead(302, { location: "https://other.example/" });
    response.end(`hello from ${host}`);
  };
  const https = createSecureServer({ key, cert, allowHTTP1: true }, onRequest);
  const sockets = new WebSocketServer({ noServer: true });
  https.on("upgrade", (request, socket: Duplex, head) => {
    seen.push({ host: request.headers.host, version: "ws", path: request.url, headers: request.headers, body: "" });
    sockets.handleUpgrade(request, socket, head, (ws) => ws.on("message", (data) => ws.send(`echo ${data}`)));
  });
  const ssh = createTcpServer((socket) => {
    socket.write("SSH-2.0-server\r\n");
    socket.on("data", (data) => socket.write(`echo ${data}`)).on("error", () => {});
  });
  const ports: Record<number, number> = {
    443: await listening(https as unknown as Server),
    80: await listening(createHttpServer(onRequest)),
    22: await listening(ssh),
  };
  const policy = policyFrom({
    owner: "T",
    allow:
      "pypi.example, api.example, private.example, mitm.it, xn--mnchen-3ya.example, git.example:22, 127.0.0.1/32, 127.0.0.1/32:22",
    headers: "api.example Authorization=Bearer example/key, api.example x-api-key=example/key",
  }, { owner: "C", allow: claim, headers: undefined });
  const world: World = {
    sandboxes: {
      at: (client) => Promise.resolve(client === "127.0.0.1" ? { name: "box", uid: "1" } : "nobody"),
      policyOf: () => Promise.resolve(policy),
    },
    problem: () => undefined,
    resolve: (host) => Promise.resolve([host === "private.example" ? "169.254.169.254" : "127.0.0.1"]),
    secret: () => Promise.resolve(SECRET),
    requireAuthor: () => Promise.reject(new Error("nobody has checked the author")),
  };
  const questions: Question[] = [];
  const stage = { seen, cert, questions, ports, isDown: false } as unknown as Stage;
  const ask = async (question: Question): Promise<Answer> => {
    questions.push(question);
    const given = await answer(world, question);
    return given.allowed ? { ...given, port: stage.isDown ? 1 : ports[given.port] ?? given.port } : given;
  };
  stage.proxy = await startProxy(ask, trusted ?? cert);
  return stage;
}

interface Tunnel {
  status: number;
  reason: string;
  proxyStatus: string;
  socket: Socket;
}

/** Asks the proxy for a tunnel. */
export function tunnel({ port }: Proxy, to: string): Promise<Tunnel> {
  return new Promise((resolve, reject) => {
    const request = httpRequest({ host: "127.0.0.1", port, method: "CONNECT", path: to });
    request.once("error", reject);
    request.once("connect", ({ statusCode = 0, statusMessage: reason = "", headers }, socket, head) => {
      onTestFinished(() => void socket.destroy());
      socket.on("error", () => {});
      // What a server that speaks first has said, if it came together with the proxy's answer.
      if (head.length > 0) socket.unshift(head);
      resolve({
        status: statusCode,
        reason,
        proxyStatus: String(headers["proxy-status"] ?? ""),
        socket: socket as Socket,
      });
    });
    request.end();
  });
}

/** TLS in a tunnel. @throws {Error} if the handshake fails */
export function secured(socket: Socket, servername: string, options: ConnectionOptions): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const tls = connectTls({ socket, servername, ...options }, () => resolve(tls));
    tls.once("error", reject);
    tls.once("close", () => reject(new Error("closed")));
    onTestFinished(() => void tls.destroy());
  });
}

interface Got {
  status: number;
  body: string;
}

/** One request in a tunnel, over HTTP/1. */
export async function get(
  proxy: Proxy,
  host: string,
  ca: string,
  more: { headers?: object; sni?: string; path?: string; body?: string; method?: string } = {},
) {
  const { status, proxyStatus, socket } = await tunnel(proxy, `${host}:443`);
  if (status !== 200) return { status, body: proxyStatus };
  const tls = await secured(socket, more.sni ?? host, { ca });
  return await new Promise<Got>((resolve, reject) => {
    const request = httpsRequest({
      createConnection: () => tls,
      host,
      path: more.path ?? "/",
      method: more.method ?? (more.body === undefined ? "GET" : "POST"),
      headers: { host, ...more.headers },
    });
    request.once("error", reject);
    request.once(
      "response",
      async (response) => resolve({ status: response.statusCode ?? 0, body: await text(response) }),
    );
    request.end(more.body);
  });
}

/** One request without encryption: the proxy gets its whole URL. */
export function getPlain(
  { port }: Proxy,
  url: string,
  headers: object = {},
  method = "GET",
  body?: string,
): Promise<Got> {
  return new Promise((resolve, reject) => {
    const request = httpRequest({
      host: "127.0.0.1",
      port,
      // A connection of its own.
      agent: false,
      path: url,
      method,
      headers: { host: URL.parse(url)?.host ?? "", ...headers },
    });
    request.once("error", reject);
    request.once(
      "response",
      async (response) => resolve({ status: response.statusCode ?? 0, body: await text(response) }),
    );
    request.end(body);
  });
}

/** Sends bytes to the proxy's port itself, or into a tunnel; returns what comes back until it contains `until`, or ends. */
export function exchange(socket: Duplex, bytes: string | Uint8Array, until?: RegExp): Promise<string> {
  return new Promise((resolve) => {
    let heard = "";
    const done = () => resolve(heard);
    socket.on("data", (data) => {
      heard += String(data);
      if (until?.test(heard)) done();
    });
    socket.once("close", done).once("end", done).on("error", done);
    socket.write(bytes);
  });
}

/** A connection to the proxy's port. */
export function connectTo({ port }: Proxy): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1", () => resolve(socket)).once("error", reject);
    socket.on("error", () => {});
    onTestFinished(() => void socket.destroy());
  });
}
