/** Forwards an HTTP request to a sandbox and streams the answer back. @module */
import { type ClientRequest, type IncomingMessage, request as httpRequest } from "node:http";
import type { Socket } from "node:net";
import { setImmediate } from "node:timers";
import { type Refusal, unanswered } from "../refusal.ts";
import { discard, sendRefusal } from "../answer.ts";
import { coalesce, passBytes } from "./streams.ts";
import {
  ANSWER_TIMEOUT,
  awaitHead,
  delayOf,
  invalidAnswer,
  isDialFailure,
  isMisdirected,
  mayTryAgain,
  misdirected,
  reasonOf,
  refusalOf,
  retry,
  retryElsewhere,
  TOO_MANY_INFORMATIONAL,
  UNREQUESTED_UPGRADE,
} from "./failure.ts";
import { answerHeaders } from "./answerheaders.ts";
import {
  bodyProblem,
  type Exchange,
  MAX_HEADER_BYTES,
  type ProxySettings,
  requestHeaders,
  tooLarge,
} from "./exchange.ts";
import { headersForClient } from "./headers.ts";
import { addTrailers, beginAnswer, cutOff, hasBody, isGone, isHttp2, isWhole } from "./versions.ts";

interface ForwardState extends Exchange {
  settings: ProxySettings;
  hasBody: boolean;
  tries: number;
  outgoing: ClientRequest | undefined;
  answer: IncomingMessage | undefined;
  /** Where the sandbox was reached last. */
  podIP: string;
  /** The client has disconnected or has been refused: nothing more is sent. */
  isOver: boolean;
}

/** Methods that may be sent again if no answer came. Source: RFC 9110 section 9.2.2, without those that have a body. */
const REPEATABLE = new Set(["GET", "HEAD", "OPTIONS"]);
const ENDED_BY_US: ReadonlySet<Error> = new Set([ANSWER_TIMEOUT, TOO_MANY_INFORMATIONAL]);
const BODYLESS = new Set(["GET", "HEAD", "OPTIONS", "DELETE", "TRACE"]);

/** Forwards the request to `address`. In every case the client gets an answer, or the connection is closed. */
export function forward(exchange: Exchange, address: string, settings: ProxySettings): void {
  const { request, response } = exchange;
  if (isGone(response)) return;
  const state: ForwardState = {
    ...exchange,
    settings,
    hasBody: hasBody(request),
    tries: 0,
    outgoing: undefined,
    answer: undefined,
    podIP: address,
    isOver: false,
  };
  const problem = bodyProblem(request, settings.maxRequestBodyBytes);
  if (problem) return sendRefusal(request, response, problem);
  response.once("close", () => {
    state.isOver = true;
    if (!response.writableEnded || !response.writableFinished) state.outgoing?.destroy();
  });
  attempt(state, address);
}

function attempt(state: ForwardState, address: string): void {
  const { request, settings, target } = state;
  state.podIP = address;
  let outgoing: ClientRequest;
  try {
    outgoing = httpRequest({
      agent: settings.dialler.agent,
      host: address,
      port: target.port,
      method: request.method ?? "GET",
      path: state.path,
      headers: framedHeaders(state),
      timeout: settings.responseHeaderTimeout,
      maxHeaderSize: MAX_HEADER_BYTES,
    });
  } catch {
    return refuse(state, { status: 400, detail: "Invalid request path or headers." });
  }
  state.outgoing = outgoing;
  outgoing.once("response", (answer: IncomingMessage) => answered(state, answer));
  outgoing.once("upgrade", (_: IncomingMessage, socket: Socket) => {
    socket.destroy();
    refuse(state, unanswered(target.name, UNREQUESTED_UPGRADE));
  });
  outgoing.on("error", (error: Error) => failed(state, outgoing, error));
  awaitHead(outgoing, settings.responseHeaderTimeout);
  if (state.hasBody) outgoing.once("socket", (socket) => whenConnected(socket, () => sendBody(state, outgoing)));
  else outgoing.end();
}

function framedHeaders(state: ForwardState): string[] {
  const { request, hasBody } = state;
  const headers = requestHeaders(state);
  // node:http frames the body itself, so that nothing in the body can pass as another request.
  if (request.headers["content-length"] !== undefined) return headers;
  if (hasBody) headers.push("Transfer-Encoding", "chunked");
  else if (!BODYLESS.has(request.method ?? "")) headers.push("Content-Length", "0");
  return headers;
}

function whenConnected(socket: Socket, start: () => void): void {
  if (socket.connecting) socket.once("connect", start);
  else start();
}

/** Sends the body, which is not read until there is a connection: after a failed try, it is still complete. */
function sendBody(state: ForwardState, outgoing: ClientRequest): void {
  const { request, response, settings: { maxRequestBodyBytes } } = state;
  if (state.isOver) return;
  if (state.expectsContinue) response.writeContinue();
  state.expectsContinue = false;
  if (maxRequestBodyBytes > 0) {
    let bytes = 0;
    request.on("data", (chunk: Uint8Array) => {
      bytes += chunk.length;
      if (bytes > maxRequestBodyBytes && !state.isOver) refuse(state, tooLarge(maxRequestBodyBytes));
    });
  }
  passBytes(request, outgoing);
  request.once("end", () => isWhole(request) ? outgoing.end() : outgoing.destroy());
  setImmediate(() => outgoing.writableEnded || outgoing.destroyed || outgoing.flushHeaders());
}

function answered(state: ForwardState, answer: IncomingMessage): void {
  const { request, response, settings } = state;
  if (isMisdirected(answer)) return answeredByOtherPod(state, answer);
  state.answer = answer;
  const why = invalidAnswer(answer);
  if (why !== undefined) return refuse(state, unanswered(state.target.name, why));
  try {
    const headers = answerHeaders(answer, state.podIP, state.rules);
    headers.push(...state.addedToResponse);
    beginAnswer(request, response, { status: answer.statusCode ?? 502, message: answer.statusMessage ?? "", headers });
  } catch {
    return refuse(state, unanswered(state.target.name, "it sent an invalid HTTP response"));
  }
  const isEventStream = answer.headers["content-type"]?.startsWith("text/event-stream") === true;
  const proxyTimeout = isEventStream ? 0 : settings.proxyTimeout;
  if (proxyTimeout !== settings.responseHeaderTimeout) answer.socket.setTimeout(proxyTimeout);
  answer.on("error", () => {});
  answer.once("close", () => answer.complete || cutOff(response));
  answer.once("end", () => {
    addTrailers(response, headersForClient(answer.rawTrailers, answer.headers.connection, state.rules.cookieName));
    response.end();
    if (request.complete) return;
    discard(request);
    state.outgoing?.destroy();
  });
  passAnswer(state, answer);
  // Without this, the head would wait for the first bytes of the body, which may come late.
  setImmediate(() => response.writableEnded || response.flushHeaders());
}

/**
 * Handles a refusal of another Pod at the same address. A request with a body cannot be sent again: the body has been
 * read.
 */
function answeredByOtherPod(state: ForwardState, answer: IncomingMessage): void {
  const { target, response, outgoing } = state;
  answer.on("error", () => {});
  state.outgoing = undefined;
  outgoing?.destroy();
  if (state.hasBody) return void state.settings.refreshPods(target).then(() => refuse(state, misdirected(target.name)));
  retryElsewhere(state, response, { attempt, refuse });
}

/**
 * A first chunk up to this size (one packet) is written as a string: node:http sends it together with the head in one
 * write, but needs a vectored write for a buffer.
 */
const SMALL_BYTES = 1024;

/** Passes the body of the answer to the client, as fast as the client reads. */
function passAnswer(state: ForwardState, answer: IncomingMessage): void {
  const { request, response } = state;
  let isFirst = !isHttp2(request);
  coalesce(answer);
  passBytes(answer, {
    get destroyed() {
      return state.isOver || response.destroyed;
    },
    write(chunk, taken) {
      const isSmall = isFirst && chunk.length <= SMALL_BYTES;
      isFirst = false;
      return isSmall ? response.write(chunk.toString("latin1"), "latin1", taken) : response.write(chunk, taken);
    },
  });
}

function failed(state: ForwardState, outgoing: ClientRequest, error: Error): void {
  // If the answer has begun, its own error event reports the failure.
  if (state.isOver || state.answer || state.outgoing !== outgoing) return;
  const { target, settings, request } = state;
  const isUnsent = isDialFailure(error);
  const isStale = outgoing.reusedSocket && !ENDED_BY_US.has(error) && !state.hasBody &&
    REPEATABLE.has(request.method ?? "");
  if (isUnsent && mayTryAgain(state, error) || isStale && state.tries < settings.upstreamMaxRetries) {
    return retry(state, state.response, isUnsent ? delayOf(settings, state.tries) : 0, { attempt, refuse }, error);
  }
  settings.onUpstreamError(target, reasonOf(error));
  refuse(state, refusalOf(target.name, error, settings));
}

function refuse(state: ForwardState, refusal: Refusal): void {
  if (state.isOver) return;
  state.isOver = true;
  state.answer?.destroy();
  sendRefusal(state.request, state.response, refusal);
  state.outgoing?.destroy();
}
