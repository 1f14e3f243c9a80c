/** A dashboard's server on a port, and an API server that knows tokens, for its tests. @module */
import { Buffer } from "node:buffer";
import { createServer, type IncomingMessage, request, type RequestListener, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { onTestFinished } from "vitest";
import { WebSocket as NodeWebSocket } from "ws";
import type { APIProxy, ProxiedRequest } from "../../../packages/kube/apiproxy.ts";
import {
  decodeFrame,
  encodeFrame,
  type Frame,
  MULTIPLEX_PATH,
  MULTIPLEX_PROTOCOL,
} from "../../../packages/api/router/multiplex.ts";
import { createAddressOf } from "../../../packages/router/access/clientaddress.ts";
import { createDashboard, type DashboardOptions } from "../../../packages/router/dashboard/dashboard.ts";

export const SANDBOXES = "/apis/agents.x-k8s.io/v1beta1/sandboxes";

interface Answered {
  status: number;
  headers: IncomingMessage["headers"];
  text: string;
}

interface StageOptions extends Partial<DashboardOptions> {
  /** The user of a token; undefined: it is invalid. @default its subject, or the part of it before the dash */
  userOf?: (token: string) => string | undefined;
  /** What the API server waits for before it answers about a token. */
  delay?: (token: string) => Promise<void> | undefined;
  /** How it answers who asks who he is. @default 201 */
  reviewStatus?: number;
  /** Answers what is not the dashboard's. @default with 418 */
  sandbox?: RequestListener;
}

const REVIEWS = "/apis/authentication.k8s.io/v1/selfsubjectreviews";

/** Starts one; what is not the dashboard's is answered 418. `asked` are its requests of whom the API server knows, those aside that ask who they are. */
export async function start(
  { apiProxy = answerEmpty, userOf = subjectOf, delay, reviewStatus = 201, sandbox, ...options }: StageOptions = {},
) {
  const asked: ProxiedRequest[] = [];
  const seen = { reviews: 0, unknown: 0, upgrades: [] as number[] };
  const dashboard = createDashboard({
    apiProxy: async (request) => {
      // API servers say so before they look at a token.
      if (/[?&]timeout=x/.test(request.path)) return answerOf(400, {});
      await delay?.(request.token);
      const username = userOf(request.token);
      if (username === undefined) {
        seen.unknown++;
        return answerOf(401, {});
      }
      if (request.path === REVIEWS) {
        seen.reviews++;
        return answerOf(reviewStatus, { status: { userInfo: { username } } });
      }
      asked.push(request);
      return await apiProxy(request);
    },
    log: () => {},
    domain: undefined,
    addressOf: createAddressOf([]),
    settings: { clusterName: "", tokenStorage: "memory" },
    ...options,
  });
  const serve = (incoming: IncomingMessage, response: ServerResponse) => {
    if (dashboard.owns(incoming)) dashboard.answer(incoming, response);
    else if (sandbox) sandbox(incoming, response);
    else response.writeHead(418).end();
  };
  const server = createServer(serve);
  server.on("upgrade", (incoming: IncomingMessage, socket: Socket, head: Uint8Array) => {
    dashboard.upgrade({ request: incoming, socket, head, serve, onAnswered: (status) => seen.upgrades.push(status) });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  onTestFinished(() => server.closeAllConnections());
  const { port } = server.address() as AddressInfo;
  const ask = (path: string, init: { method?: string; headers?: Record<string, string>; body?: string } = {}) => {
    const answer = new Promise<Answered>((resolve, reject) => {
      const { body, ...rest } = init;
      const asking = request({ host: "127.0.0.1", port, path, ...rest }, async (response) => {
        let text = "";
        for await (const chunk of response) text += chunk;
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text });
      });
      asking.once("error", reject).end(body);
    });
    // A test that fails awaits no more of its requests, and its end closes their connections.
    answer.catch(() => {});
    return answer;
  };
  return { ask, asked, seen, port, drain: dashboard.drain };
}

/** The WebSocket of a browser that shows a page of this origin. */
export function socketOf(origin: string): typeof WebSocket {
  return class extends NodeWebSocket {
    constructor(url: URL, protocol: string) {
      super(url, protocol, { headers: { Origin: origin } });
      this.on("error", () => {});
    }
  } as unknown as typeof WebSocket;
}

/** A body of one chunk. */
export async function* chunksOf(text: string): AsyncGenerator<Uint8Array> {
  yield new TextEncoder().encode(text);
}

/** An answer that is there at once. */
export function answerOf(status: number, body: object): Awaited<ReturnType<APIProxy>> {
  const text = JSON.stringify(body);
  return { status, chunks: chunksOf(text), text: () => Promise.resolve(text) };
}

const answerEmpty: APIProxy = () => Promise.resolve(answerOf(200, { items: [] }));

/** What a token of an identity provider, or of a ServiceAccount, looks like to who cannot check it; `exp` in seconds. */
export function tokenOf(sub: string, id = "", exp?: number): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  return `${part({ alg: "RS256" })}.${part({ sub, jti: id, exp })}.x`;
}

/** The subject of a token of that form; of any other, what stands before its dash. */
export function subjectOf(token: string): string {
  const [, payload] = token.split(".");
  if (!token.startsWith("ey") || payload === undefined) return token.replace(/-.*/, "");
  return (JSON.parse(Buffer.from(payload, "base64url").toString()) as { sub: string }).sub;
}

/** A token that is valid. */
export const TOKEN: [string, string] = ["Authorization", "Bearer ada-1"];
/** A request of the page to the API server. */
export const API = `/.hookbox/api${SANDBOXES}`;

/** A client that sends frames as it likes. */
export async function dial(port: number, headers: Record<string, string> = {}, path = MULTIPLEX_PATH) {
  const origin = `http://127.0.0.1:${port}`;
  const socket = new NodeWebSocket(`ws://127.0.0.1:${port}${path}`, MULTIPLEX_PROTOCOL, {
    headers: { Origin: origin, ...headers },
  });
  socket.on("error", () => {});
  onTestFinished(() => socket.terminate());
  const frames: Frame[] = [];
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    socket.once("close", (code, reason) => resolve({ code, reason: String(reason) }));
  });
  socket.on("message", (data: Uint8Array) => frames.push(decodeFrame(data)!));
  const status = await new Promise<number>((resolve) => {
    socket.once("open", () => resolve(101));
    socket.once("unexpected-response", (_, answer) => resolve(answer.statusCode ?? 0));
  });
  const send = (frame: Frame) => socket.send(encodeFrame(frame));
  const ask = (
    stream: number,
    head: { path?: string; headers?: [string, string][]; method?: string; length?: number },
  ) =>
    send({
      type: "request",
      stream,
      head: { method: "GET", path: API, headers: [TOKEN], length: 0, ...head },
    });
  const of = (stream: number) => frames.filter((frame) => frame.stream === stream);
  const statusOf = (stream: number) =>
    of(stream).flatMap((frame) => frame.type === "answer" ? [(frame.head as { status: number }).status] : [])[0];
  const textOf = (stream: number) =>
    of(stream).map((frame) => frame.type === "data" ? new TextDecoder().decode(frame.bytes) : "").join("");
  const ended = (stream: number) => of(stream).some(({ type }) => type === "end" || type === "cancel");
  return { socket, status, send, ask, frames, of, statusOf, textOf, ended, closed };
}
