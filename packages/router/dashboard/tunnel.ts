/**
 * Takes many requests of the dashboard over one WebSocket. Each becomes an ordinary request to the router's own handler
 * on a connection in memory, so that all checks and limits apply to it.
 * @module
 */
import { Buffer } from "node:buffer";
import { type ClientRequest, createServer, type IncomingMessage, request as httpRequest } from "node:http";
import type { Socket } from "node:net";
import { type Duplex, duplexPair } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import {
  CONNECTION_WINDOW,
  createReceiveWindow,
  createSendWindow,
  decodeFrame,
  encodeFrame,
  type Frame,
  FRAME_BYTES,
  HEAD_BYTES,
  MOST_STREAMS,
  MOST_UNPROVEN_STREAMS,
  MULTIPLEX_PATH,
  MULTIPLEX_PROTOCOL,
  provesToken,
  type ReceiveWindow,
  type RequestHead,
  sendBytes,
  type SendWindow,
  STREAM_WINDOW,
} from "../../api/router/multiplex.ts";
import type { AddressOf } from "../access/clientaddress.ts";
import { isCrossOrigin } from "../access/crossorigin.ts";
import { runInBoundary } from "../errorboundary.ts";
import type { Handler } from "../handle.ts";
import { createConcurrencyLimit } from "../limits.ts";
import { MAX_HEADER_BYTES } from "../proxy/exchange.ts";
import { refuseRaw } from "../proxy/upgrade.ts";
import { cutOff } from "../proxy/versions.ts";
import { isRefusal, type Refusal, tooMany } from "../refusal.ts";
import { BAD_HEAD, headersFor, headersOf, headSchema } from "./tunnelhead.ts";

/** Limits of the tunnel; times in milliseconds. */
export interface TunnelLimits {
  /** Most connections in all. @default 500 */
  mostConnections?: number;
  /** Most connections from one address. @default 100 */
  mostOfAddress?: number;
  /** How long a connection may be open before its first request. @default 10_000 */
  firstRequestMs?: number;
  /** How often to check that a connection still works. @default 60_000 */
  silenceMs?: number;
  /**
   * How long a connection may have no request; pages close it earlier. At most `silenceMs` if no request had a valid
   * token. @default 600_000
   */
  idleMs?: number;
}

/** A request to open the WebSocket. */
export interface TunnelUpgrade {
  request: IncomingMessage;
  socket: Socket;
  head: Uint8Array;
  /** Handles each request that comes over the WebSocket. */
  serve: Handler["request"];
  /** Called with the status that the client got. */
  onAnswered(status: number): void;
}

const NO_SOCKET: Refusal = { status: 404, detail: `The dashboard's WebSocket is at ${MULTIPLEX_PATH}.` };
const FOREIGN: Refusal = { status: 403, detail: "Only the dashboard's own page may open this WebSocket." };
/** Refuses what would never end while the router shuts down. */
export const STOPPING: Refusal = {
  status: 503,
  detail: "The router is shutting down.",
  headers: { "Retry-After": "1" },
};
/** Most bytes that wait for a client that does not read. Well-behaved clients stay below: each stream has one frame. */
const MOST_WAITING = 2 * MOST_STREAMS * FRAME_BYTES;
/** What a waiting frame takes in memory in addition to its bytes, about. */
const WAITING_COST = 1024;
/** Most pings on a connection that come before the one before was answered. */
const MOST_SURPLUS_PINGS = 100;
/** The Connect protocol's streams: the page opens them for terminals. */
const CONNECT_STREAM = /^application\/connect\+/i;
/** Close code 1012 of the IANA registry: the client may connect again. */
const SERVICE_RESTART = 1012;
/** The WebSockets of all pages. */
export interface Tunnel {
  /** Opens a WebSocket, and serves its requests until it closes. */
  open(upgrade: TunnelUpgrade): void;
  /** Ends terminals, closes each WebSocket as soon as its other requests are done, and opens no more. */
  drain(): void;
}

/** Creates the tunnel. */
export function createTunnel(
  addressOf: AddressOf,
  { mostConnections = 500, mostOfAddress = 100, firstRequestMs = 10_000, silenceMs = 60_000, idleMs = 600_000 }:
    TunnelLimits = {},
): Tunnel {
  let isDraining = false;
  const drains = new Set<() => void>();
  const connections = createConcurrencyLimit(mostConnections, mostOfAddress);
  const webSockets = new WebSocketServer({
    noServer: true,
    maxPayload: HEAD_BYTES,
    maxFragments: 64,
    maxBufferedChunks: 1024,
    perMessageDeflate: false,
    handleProtocols: (offered) => offered.has(MULTIPLEX_PROTOCOL) && MULTIPLEX_PROTOCOL,
  });
  const open: Tunnel["open"] = ({ request, socket, head, serve, onAnswered }) => {
    const refuse = (refusal: Refusal) => {
      onAnswered(refusal.status);
      refuseRaw(socket, refusal);
    };
    if ((request.url ?? "").replace(/\?.*$/s, "") !== MULTIPLEX_PATH) return refuse(NO_SOCKET);
    // Unlike `fetch`, a WebSocket may go to another origin. Only browsers send an Origin, and only pages need this.
    const isForeign = request.headers.origin === undefined || isCrossOrigin(request, { authzCookieAllowedOrigins: [] });
    if (isForeign) return refuse(FOREIGN);
    if (isDraining) return refuse(STOPPING);
    const release = connections(addressOf(request));
    if (!release) return refuse(tooMany("Too many pages of this address are open.", 30));
    socket.once("close", release);
    webSockets.handleUpgrade(request, socket, Buffer.from(head), (webSocket) => {
      onAnswered(101);
      const drain = serveConnection(webSocket, { request, socket, serve, firstRequestMs, silenceMs, idleMs });
      drains.add(drain);
      webSocket.once("close", () => drains.delete(drain));
    });
  };
  return {
    open,
    drain() {
      isDraining = true;
      for (const drain of drains) drain();
    },
  };
}

type ConnectionParts =
  & Pick<TunnelUpgrade, "request" | "socket" | "serve">
  & Required<Pick<TunnelLimits, "firstRequestMs" | "silenceMs" | "idleMs">>;

/** A request on its way, and its answer. */
interface Stream {
  outgoing: ClientRequest;
  /** Bytes of the body that have arrived. */
  received: number;
  /** Announced length of the body; undefined: not known. */
  length: number | undefined;
  fromClient: ReceiveWindow;
  toClient: SendWindow;
  /** Free the memory of the frames that the handler has not taken yet. */
  untaken: Set<() => void>;
  /** It ends only when its client or its sandbox ends it. */
  isEndless: boolean;
}

/** Serves the requests of one WebSocket. @returns a function that drains it, see {@link Tunnel.drain} */
function serveConnection(webSocket: WebSocket, parts: ConnectionParts): () => void {
  const streams = new Map<number, Stream>();
  const connect = createMemoryServer(parts);
  let last = 0;
  let isProven = false;
  let isDraining = false;
  let heardAt = performance.now();
  let idleSince = heardAt;
  let waiting = 0;
  let isPongWaiting = false;
  const send = (frame: Frame): Promise<void> =>
    new Promise((resolve) => {
      const bytes = encodeFrame(frame);
      const cost = bytes.length + WAITING_COST;
      waiting += cost;
      webSocket.send(bytes, () => {
        waiting -= cost;
        resolve();
      });
      // Frames that no window limits, such as refusals, must not fill the memory either.
      if (waiting > MOST_WAITING) webSocket.terminate();
    });
  let surplusPings = 0;
  const answerPing = async () => {
    // A page sends one in ten seconds.
    if (isPongWaiting) return ++surplusPings > MOST_SURPLUS_PINGS ? fail("Too many pings") : undefined;
    isPongWaiting = true;
    await send({ type: "pong", stream: 0 });
    isPongWaiting = false;
  };
  const fail = (reason: string) => {
    webSocket.close(1008, reason);
    for (const id of streams.keys()) end(id);
  };
  const body = createReceiveWindow(CONNECTION_WINDOW, (bytes) => void send({ type: "credit", stream: 0, bytes }));

  function end(id: number, frame?: Frame): void {
    const stream = streams.get(id);
    if (!stream) return;
    streams.delete(id);
    if (streams.size === 0) idleSince = performance.now();
    stream.toClient.close();
    stream.outgoing.destroy();
    for (const free of stream.untaken) free();
    if (frame) void send(frame);
    if (isDraining) closeIfDone();
  }

  function closeIfDone(): void {
    if (streams.size === 0) webSocket.close(SERVICE_RESTART, STOPPING.detail);
  }

  function drain(): void {
    isDraining = true;
    // The page must send its next requests elsewhere before it learns that some have ended.
    void send({ type: "goaway", stream: 0 });
    for (const [id, { isEndless }] of streams) {
      if (isEndless) end(id, { type: "cancel", stream: id, reason: STOPPING.detail });
    }
    closeIfDone();
  }

  function open(id: number, given: unknown): void {
    if (id <= last) return fail("A stream's number was used before");
    last = id;
    const { data: head } = headSchema.safeParse(given);
    if (!head) return fail("Cannot read the head of a request");
    const refuse = (refusal: Refusal) => answerRefusal(send, id, refusal);
    if (streams.size >= (isProven ? MOST_STREAMS : MOST_UNPROVEN_STREAMS)) {
      return refuse(tooMany("Too many requests of this page are open.", 1));
    }
    const checked = headersFor(head as RequestHead, parts.request);
    if (isRefusal(checked)) return refuse(checked);
    // API server's watches and logs are ended by the dashboard itself: they can come without a WebSocket, too.
    const isEndless = CONNECT_STREAM.test(checked.headers["content-type"] ?? "");
    if (isDraining && isEndless) return refuse(STOPPING);
    let outgoing: ClientRequest;
    try {
      outgoing = httpRequest({
        method: head.method,
        path: head.path,
        headers: checked.headers,
        setHost: false,
        maxHeaderSize: MAX_HEADER_BYTES,
        createConnection: connect,
      });
    } catch {
      return refuse(BAD_HEAD);
    }
    const stream: Stream = {
      outgoing,
      received: 0,
      length: head.length,
      fromClient: createReceiveWindow(STREAM_WINDOW, (bytes) => void send({ type: "credit", stream: id, bytes })),
      toClient: createSendWindow(STREAM_WINDOW),
      untaken: new Set(),
      isEndless,
    };
    streams.set(id, stream);
    outgoing.on("error", () => end(id, { type: "cancel", stream: id, reason: "The router ended the request." }));
    outgoing.once("response", (answer) => {
      isProven ||= provesToken(answer.statusCode ?? 0);
      void passAnswer(id, stream, answer);
    });
    if (head.length === 0) outgoing.end();
    // A body may never come. The handler must be able to refuse the request before.
    else outgoing.flushHeaders();
  }

  async function passAnswer(id: number, { toClient }: Stream, answer: IncomingMessage): Promise<void> {
    const isOver = () => !streams.has(id);
    const head = { status: answer.statusCode ?? 0, message: answer.statusMessage ?? "", headers: headersOf(answer) };
    await send({ type: "answer", stream: id, head });
    try {
      for await (const chunk of answer as AsyncIterable<Uint8Array>) {
        const sendPart = (bytes: Uint8Array) => send({ type: "data", stream: id, bytes });
        await sendBytes(chunk, [toClient], { send: sendPart, isOver });
        if (isOver()) return;
      }
      end(id, { type: "end", stream: id });
    } catch {
      end(id, { type: "cancel", stream: id, reason: "The router ended the answer." });
    }
  }

  function takeBody(id: number, bytes: Uint8Array): void {
    if (!body.received(bytes.length)) return fail("More was sent than allowed");
    const stream = streams.get(id);
    // The answer may have ended before the body has.
    if (!stream) return body.used(bytes.length);
    stream.received += bytes.length;
    const isTooLong = stream.length !== undefined && stream.received > stream.length;
    if (isTooLong || !stream.fromClient.received(bytes.length)) return fail("More was sent than allowed");
    const free = () => void (stream.untaken.delete(free) && body.used(bytes.length));
    stream.untaken.add(free);
    stream.outgoing.write(bytes, () => {
      if (stream.untaken.has(free)) stream.fromClient.used(bytes.length);
      free();
    });
  }

  function endBody(id: number): void {
    const stream = streams.get(id);
    if (!stream) return;
    if (stream.length !== undefined && stream.received < stream.length) return fail("A body is not whole");
    stream.outgoing.end();
  }

  function receive(frame: Frame): void {
    const { type, stream } = frame;
    if (type === "request") return open(stream, frame.head);
    if (type === "data") return takeBody(stream, frame.bytes);
    if (type === "end") return endBody(stream);
    if (type === "credit") return streams.get(stream)?.toClient.grant(frame.bytes);
    if (type === "ping") return void answerPing();
    if (type === "cancel") return end(stream);
    fail("Unexpected frame");
  }

  webSocket.on("message", (data: Buffer, isBinary) => {
    heardAt = performance.now();
    // After a mistake, frames that have arrived already are dropped.
    if (webSocket.readyState !== webSocket.OPEN) return;
    const frame = isBinary ? decodeFrame(data) : undefined;
    if (!frame) return fail("Cannot read a frame");
    receive(frame);
  });
  webSocket.on("pong", () => heardAt = performance.now());
  webSocket.on("error", () => webSocket.terminate());
  const first = setTimeout(() => last === 0 && fail("No request has come"), parts.firstRequestMs);
  const pulse = setInterval(() => {
    if (performance.now() - heardAt > 2 * parts.silenceMs) return webSocket.terminate();
    const idleMs = isProven ? parts.idleMs : Math.min(parts.idleMs, parts.silenceMs);
    if (streams.size === 0 && performance.now() - idleSince >= idleMs) return webSocket.close(1000, "idle");
    webSocket.ping();
  }, parts.silenceMs);
  webSocket.once("close", () => {
    clearTimeout(first);
    clearInterval(pulse);
    for (const id of streams.keys()) end(id);
  });
  return drain;
}

/** Returns a function that connects to the router's handler in memory. The connection looks like the WebSocket's own. */
function createMemoryServer({ socket, serve }: ConnectionParts): () => Duplex {
  const server = createServer({
    maxHeaderSize: MAX_HEADER_BYTES,
    requestTimeout: 0,
    shouldUpgradeCallback: () => false,
  });
  server.on("request", (request, response) => {
    runInBoundary(() => cutOff(response), () => serve(request, response, false));
  });
  const { remoteAddress, remotePort, localAddress } = socket;
  const encrypted = "encrypted" in socket && socket.encrypted === true;
  return () => {
    const [near, far] = duplexPair();
    // A pair does not pass on that one of its sides was destroyed.
    near.on("error", () => {}).once("close", () => far.destroy());
    far.on("error", () => {}).once("close", () => near.destroy());
    server.emit("connection", Object.assign(far, { remoteAddress, remotePort, localAddress, encrypted }));
    return near;
  };
}

/** Answers `{"detail": …}` in place of the handler. */
function answerRefusal(send: (frame: Frame) => unknown, stream: number, { status, detail, headers }: Refusal): void {
  const head = {
    status,
    message: "",
    headers: Object.entries({ "Content-Type": "application/json", ...headers }),
  };
  send({ type: "answer", stream, head });
  send({ type: "data", stream, bytes: Buffer.from(JSON.stringify({ detail })) });
  send({ type: "end", stream });
}
