/** Forwards a gRPC call to a sandbox over HTTP/2, and returns the answer in the client's form. @module */
import { Buffer } from "node:buffer";
import { type ClientHttp2Session, type ClientHttp2Stream, constants, type IncomingHttpHeaders } from "node:http2";
import { type Refusal, unanswered, unreachable } from "../refusal.ts";
import { discard, sendRefusal } from "../answer.ts";
import { answerHeaders } from "./answerheaders.ts";
import { coalesce, passBytes } from "./streams.ts";
import {
  delayOf,
  isDialFailure,
  isMisdirected,
  mayTryAgain,
  misdirected,
  reasonOf,
  refusalOf,
  retry,
} from "./failure.ts";
import { bodyProblem, type Exchange, type ProxySettings, requestHeaders, tooLarge } from "./exchange.ts";
import { forward } from "./forward.ts";
import { createBase64Decoder, type GrpcForm, trailerFrame, webTypeOf } from "./grpcform.ts";
import { headersForClient } from "./headers.ts";
import { NOT_HTTP2 } from "./dial.ts";
import { addTrailers, beginAnswer, cutOff, flatOf, grouped, isGone, isWhole } from "./versions.ts";

interface GrpcState extends Exchange {
  form: GrpcForm;
  settings: ProxySettings;
  tries: number;
  podIP: string;
  stream: ClientHttp2Stream | undefined;
  /** The client has disconnected or has been refused: nothing more is sent. */
  isOver: boolean;
}

/** Forwards the call to `address`. In every case the client gets an answer, or the stream is closed. */
export function forwardGrpc(exchange: Exchange, form: GrpcForm, address: string, settings: ProxySettings): void {
  const { request, response } = exchange;
  if (isGone(response)) return;
  const problem = bodyProblem(request, settings.maxRequestBodyBytes);
  if (problem) return sendRefusal(request, response, problem);
  const state: GrpcState = { ...exchange, form, settings, tries: 0, podIP: address, stream: undefined, isOver: false };
  response.once("close", () => {
    state.isOver = true;
    state.stream?.close(response.writableEnded ? constants.NGHTTP2_NO_ERROR : constants.NGHTTP2_CANCEL);
  });
  attempt(state, address);
}

function attempt(state: GrpcState, address: string): void {
  state.podIP = address;
  state.settings.dialler.http2.session(address, state.target.port).then(
    (session) => state.isOver || begin(state, session),
    (error: Error) => failed(state, error),
  );
}

function begin(state: GrpcState, session: ClientHttp2Session): void {
  const { request } = state;
  let stream: ClientHttp2Stream;
  try {
    stream = session.request(callHeaders(state), { endStream: false });
  } catch {
    // If the connection has just ended, the request is not at fault.
    if (session.closed || session.destroyed) return failed(state, NOT_HTTP2);
    return refuse(state, { status: 400, detail: "Invalid request path or headers." });
  }
  state.stream = stream;
  let isAnswered = false;
  stream.once("response", (headers: IncomingHttpHeaders) => {
    isAnswered = true;
    if (!state.isOver) answered(state, stream, headers);
  });
  stream.on("error", () => {});
  stream.once("close", () => {
    if (state.isOver || isAnswered) return;
    const error = Object.assign(new Error("the stream ended"), { code: "ECONNRESET" });
    state.settings.onUpstreamError(state.target, reasonOf(error));
    refuse(state, refusalOf(state.target.name, error, state.settings));
  });
  sendBody(state, stream);
  request.once("end", () => isWhole(request) ? stream.end() : stream.close(constants.NGHTTP2_CANCEL));
}

function callHeaders(state: GrpcState): Record<string, string | string[]> {
  const { form, path } = state;
  const { host = "", ...headers } = grouped(requestHeaders(state));
  if (form.kind === "web") {
    // The translation changes the length of the body.
    delete headers["content-length"];
    delete headers["x-grpc-web"];
    headers["content-type"] = `application/grpc${form.type}`;
  }
  return { ...headers, ":method": "POST", ":path": path, ":scheme": "http", ":authority": host, te: "trailers" };
}

function sendBody(state: GrpcState, stream: ClientHttp2Stream): void {
  const { request, response, settings, form } = state;
  if (state.expectsContinue) response.writeContinue();
  state.expectsContinue = false;
  const decode = form.kind === "web" && form.isText ? createBase64Decoder() : undefined;
  let bytes = 0;
  passBytes(request, {
    get destroyed() {
      return stream.destroyed || stream.writableEnded;
    },
    write(chunk, taken) {
      bytes += chunk.length;
      if (settings.maxRequestBodyBytes > 0 && bytes > settings.maxRequestBodyBytes) {
        refuse(state, tooLarge(settings.maxRequestBodyBytes));
      }
      return stream.destroyed ? (taken(), true) : stream.write(decode ? decode(chunk) : chunk, taken);
    },
  });
}

function answered(
  state: GrpcState,
  stream: ClientHttp2Stream,
  headers: IncomingHttpHeaders,
): void {
  const { request, response, rules, form } = state;
  const status = Number(headers[":status"] ?? 502);
  // The body is already on its way, so the client must repeat the call.
  if (isMisdirected({ statusCode: status, headers: headers as never })) {
    return refuse(state, misdirected(state.target.name));
  }
  const media = String(headers["content-type"] ?? "");
  const isGrpc = /^application\/grpc(?!-)/i.test(media);
  const web = form.kind === "web" && isGrpc ? form : undefined;
  const passed = answerHeaders({ rawHeaders: flatOf(headers), headers: headers as never }, state.podIP, rules);
  // If a call has no answer, its status is in the headers.
  let [head, trailers] = splitTrailers(passed, web, media);
  try {
    beginAnswer(request, response, { status, message: "", headers: [...head, ...state.addedToResponse] });
  } catch {
    return refuse(state, unanswered(state.target.name, "it sent an invalid HTTP response"));
  }
  const encode = (chunk: Buffer) => web?.isText ? Buffer.from(chunk.toString("base64"), "latin1") : chunk;
  stream.on(
    "trailers",
    (got: IncomingHttpHeaders) => trailers = headersForClient(flatOf(got), undefined, rules.cookieName),
  );
  coalesce(stream);
  passBytes(stream, {
    get destroyed() {
      return state.isOver || response.destroyed;
    },
    write: (chunk, taken) => response.write(encode(chunk), taken),
  });
  stream.once("end", () => {
    if (state.isOver) return;
    // An aborted stream ends like a complete one. Only grpc-status shows that the answer is complete.
    const isWholeAnswer = !isGrpc || trailers.some((name, i) => i % 2 === 0 && name.toLowerCase() === "grpc-status");
    if (!isWholeAnswer) return cutOff(response);
    if (web) response.write(encode(trailerFrame(trailers)));
    else addTrailers(response, trailers);
    response.end();
    if (!request.complete) discard(request);
  });
  stream.once("close", () => stream.rstCode === 0 || response.writableEnded || cutOff(response));
  response.flushHeaders();
}

/** Moves trailers out of the headers, and sets the media type for the client's form of gRPC. */
function splitTrailers(
  flat: readonly string[],
  web: { isText: boolean } | undefined,
  media: string,
): [head: string[], last: string[]] {
  const [head, last]: [string[], string[]] = [[], []];
  for (let i = 0; i + 1 < flat.length; i += 2) {
    const [name, value] = [flat[i] as string, flat[i + 1] as string];
    if (/^grpc-(?:status|message|status-details-bin)$/i.test(name)) last.push(name, value);
    else if (web && name === "content-length") continue;
    else head.push(name, web && name === "content-type" ? webTypeOf(media, web.isText) : value);
  }
  return [head, last];
}

function failed(state: GrpcState, error: Error): void {
  if (state.isOver) return;
  const { settings, target, form } = state;
  // A server that answers gRPC-Web itself may speak only HTTP/1.1.
  if (error === NOT_HTTP2 && form.kind === "web") return forward(state, state.podIP, settings);
  if (isDialFailure(error) && mayTryAgain(state, error)) {
    return retry(state, state.response, delayOf(settings, state.tries), { attempt, refuse }, error);
  }
  settings.onUpstreamError(target, reasonOf(error));
  refuse(
    state,
    error === NOT_HTTP2 ? unreachable(target.name, error.message) : refusalOf(target.name, error, settings),
  );
}

function refuse(state: GrpcState, refusal: Refusal): void {
  if (state.isOver) return;
  state.isOver = true;
  sendRefusal(state.request, state.response, refusal);
  state.stream?.close(constants.NGHTTP2_CANCEL);
}
