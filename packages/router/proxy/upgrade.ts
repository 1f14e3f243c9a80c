/** Forwards a request to switch protocols, such as to WebSocket, and then the raw bytes. @module */
import { Buffer } from "node:buffer";
import { type ClientRequest, type IncomingMessage, request as httpRequest, STATUS_CODES } from "node:http";
import type { NetConnectOpts, Socket } from "node:net";
import { SAFE_HEADERS } from "../answer.ts";
import { type Refusal, unanswered } from "../refusal.ts";
import { coalesce, passBytes } from "./streams.ts";
import {
  awaitHead,
  delayOf,
  invalidAnswer,
  isDialFailure,
  isMisdirected,
  mayTryAgain,
  reasonOf,
  refusalOf,
  retry,
  retryElsewhere,
} from "./failure.ts";
import { type Exchange, MAX_HEADER_BYTES, type ProxySettings, requestHeaders } from "./exchange.ts";
import { answerHeaders } from "./answerheaders.ts";

/** A request to switch protocols on its way. `head`: bytes that the client sent after it. */
export interface UpgradeExchange extends Omit<Exchange, "response" | "addedToResponse" | "expectsContinue"> {
  socket: Socket;
  head: Uint8Array;
  /** Called once, with the status that the client got: 0 if it had disconnected. */
  onAnswered(status: number): void;
}

interface UpgradeState extends UpgradeExchange {
  settings: ProxySettings;
  tries: number;
  outgoing: ClientRequest | undefined;
  /** Where the sandbox was reached last. */
  podIP: string;
  isOver: boolean;
}

/**
 * Not passed on, as the sandbox's own pages have the router's origin. For foreign pages, `admit.ts` adds the header.
 */
const ORIGIN = "origin";

/** Forwards the request to `address`. In every case the client gets an answer, or the connection is closed. */
export function forwardUpgrade(exchange: UpgradeExchange, address: string, settings: ProxySettings): void {
  const { socket, request } = exchange;
  const state: UpgradeState = { ...exchange, settings, tries: 0, outgoing: undefined, podIP: address, isOver: false };
  if (request.headers["transfer-encoding"] !== undefined || (request.headers["content-length"] ?? "0") !== "0") {
    return refuse(state, { status: 400, detail: "A request for another protocol has no body." });
  }
  socket.on("error", () => {});
  socket.once("close", () => {
    if (state.isOver) return;
    state.isOver = true;
    state.outgoing?.destroy();
    state.onAnswered(0);
  });
  attempt(state, address);
}

function attempt(state: UpgradeState, address: string): void {
  const { request, settings, target } = state;
  state.podIP = address;
  let outgoing: ClientRequest;
  try {
    outgoing = httpRequest({
      host: address,
      port: target.port,
      method: request.method ?? "GET",
      path: state.path,
      headers: upgradeHeaders(state),
      timeout: settings.responseHeaderTimeout,
      maxHeaderSize: MAX_HEADER_BYTES,
      createConnection: (options) => settings.dialler.connect({ ...options as NetConnectOpts, allowHalfOpen: true }),
    });
  } catch {
    return refuse(state, { status: 400, detail: "Invalid request path or headers." });
  }
  state.outgoing = outgoing;
  outgoing.once("upgrade", (answer: IncomingMessage, backend: Socket, head: Uint8Array) => {
    switched(state, answer, backend, head);
  });
  outgoing.once("response", (answer: IncomingMessage) => declined(state, answer));
  outgoing.on("error", (error: Error) => state.outgoing === outgoing && failed(state, error));
  awaitHead(outgoing, settings.responseHeaderTimeout);
  outgoing.end();
}

function upgradeHeaders(state: UpgradeState): string[] {
  const { request, withheld } = state;
  const passed = requestHeaders({ ...state, withheld: new Set([...withheld, ORIGIN]) });
  return [...passed, "Connection", "Upgrade", "Upgrade", request.headers.upgrade ?? ""];
}

/** Handles an accepted switch: from now on, bytes pass unchanged. */
function switched(state: UpgradeState, answer: IncomingMessage, backend: Socket, head: Uint8Array): void {
  const { socket, target } = state;
  if (state.isOver) return void backend.destroy();
  const protocol = answer.headers.upgrade ?? "";
  if (!offered(state.request).has(protocol.toLowerCase())) {
    backend.destroy();
    return refuse(state, unanswered(target.name, "it switches to a protocol that was not asked for"));
  }
  state.isOver = true;
  // Browsers store cookies of this answer, like those of any other.
  const headers = answerHeaders(answer, state.podIP, state.rules);
  socket.write(headOf(101, answer.statusMessage, [...headers, "Connection", "Upgrade", "Upgrade", protocol]), "latin1");
  if (head.length > 0) socket.write(head);
  if (state.head.length > 0) backend.write(state.head);
  coalesce(backend);
  passBothWays(socket, backend);
  state.onAnswered(101);
}

function offered({ headers }: IncomingMessage): Set<string> {
  return new Set((headers.upgrade ?? "").toLowerCase().split(",").map((protocol) => protocol.trim()));
}

/** Handles an answer in plain HTTP. Bytes that the client sent after its request must not reach the sandbox. */
function declined(state: UpgradeState, answer: IncomingMessage): void {
  const { socket } = state;
  if (state.isOver) return void answer.destroy();
  if (isMisdirected(answer)) {
    state.outgoing = undefined;
    answer.on("error", () => {}).destroy();
    return retryElsewhere(state, socket, { attempt, refuse });
  }
  const why = invalidAnswer(answer);
  if (why !== undefined) return refuse(state, unanswered(state.target.name, why));
  state.isOver = true;
  const headers = answerHeaders(answer, state.podIP, state.rules);
  socket.write(headOf(answer.statusCode ?? 502, answer.statusMessage, [...headers, "Connection", "close"]), "latin1");
  socket.once("close", () => answer.destroy());
  answer.on("error", () => socket.destroy());
  answer.once("close", () => answer.complete || socket.destroy());
  coalesce(answer);
  passBytes(answer, socket);
  answer.once("end", () => socket.end());
  socket.resume();
  state.onAnswered(answer.statusCode ?? 502);
}

function failed(state: UpgradeState, error: Error): void {
  if (state.isOver) return;
  const { settings, target } = state;
  if (!isDialFailure(error) || !mayTryAgain(state, error)) {
    settings.onUpstreamError(target, reasonOf(error));
    return refuse(state, refusalOf(target.name, error, settings));
  }
  retry(state, state.socket, delayOf(settings, state.tries), { attempt, refuse }, error);
}

function refuse(state: UpgradeState, refusal: Refusal): void {
  if (state.isOver) return;
  state.isOver = true;
  refuseRaw(state.socket, refusal);
  state.outgoing?.destroy();
  state.onAnswered(refusal.status);
}

/** Interval of TCP keep-alive probes, in milliseconds: a vanished peer is noticed after a few of them. */
const KEEP_ALIVE_MS = 30_000;

/** Passes bytes in both directions. The end of one direction is passed on by itself; a failure closes both sockets. */
function passBothWays(one: Socket, other: Socket): void {
  for (const [from, to] of [[one, other], [other, one]] as const) {
    from.setTimeout(0);
    from.setNoDelay(true);
    from.setKeepAlive(true, KEEP_ALIVE_MS);
    from.on("error", () => breakOff(to));
    // A socket that closes without an end has failed.
    from.once("close", () => from.readableEnded || breakOff(to));
    // A client may have ended its direction before there was a connection to the sandbox.
    if (from.readableEnded) to.end();
    else from.once("end", () => to.end());
    passBytes(from, to);
  }
}

/** Closes a connection with a reset, so that the peer does not take it for a normal end. */
function breakOff(socket: Socket): void {
  if (socket.destroyed) return;
  if ("encrypted" in socket || typeof socket.resetAndDestroy !== "function") socket.destroy();
  else socket.resetAndDestroy();
}

/** A refused connection is closed after this time, whatever its client does, in milliseconds. */
const LINGER_MS = 2000;

/** Returns the head of an answer. `headers` is a flat list from a parser or the router, so it has no line breaks. */
function headOf(status: number, message: string | undefined, headers: readonly string[]): string {
  let head = `HTTP/1.1 ${status} ${message || STATUS_CODES[status] || ""}\r\n`;
  for (let i = 0; i + 1 < headers.length; i += 2) head += `${headers[i]}: ${headers[i + 1]}\r\n`;
  return `${head}\r\n`;
}

/** Answers `{"detail": …}`, with `remedy` if there is one, and ends the connection. */
export function refuseRaw(socket: Socket, { status, detail, remedy, headers = {} }: Refusal): void {
  if (socket.destroyed) return;
  const body = Buffer.from(JSON.stringify({ detail, remedy }));
  const head = headOf(status, undefined, [
    ...["Content-Type", "application/json", "Content-Length", String(body.length), "Cache-Control", "no-store"],
    ...Object.entries(SAFE_HEADERS).flat(),
    ...Object.entries(headers).flat(),
    ...["Connection", "close"],
  ]);
  socket.on("error", () => {});
  socket.end(Buffer.concat([Buffer.from(head, "latin1"), body]));
  socket.resume();
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once("close", () => clearTimeout(timer));
}
