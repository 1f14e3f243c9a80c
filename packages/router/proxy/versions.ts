/** Where HTTP/2 differs from HTTP/1.1, though node:http2 shows both alike. Decides nothing. @module */
import type { IncomingMessage, ServerResponse } from "node:http";
import {
  constants,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from "node:http2";

/**
 * Tells whether a request came by HTTP/2: it is then a Http2ServerRequest, and its answer a Http2ServerResponse. What it
 * says of its version proves nothing: node:http takes `GET / HTTP/2.0` as well.
 */
export function isHttp2(request: IncomingMessage): boolean {
  return "stream" in request;
}

/** Returns the headers as they came, flat. HTTP/2 may split a cookie in parts, which HTTP/1.1 wants as one. */
export function rawHeadersOf(request: IncomingMessage): string[] {
  return isHttp2(request) ? flatOf(request.headers) : request.rawHeaders;
}

/** Returns headers of HTTP/2 as a flat list, without pseudo-headers. */
export function flatOf(headers: IncomingHttpHeaders): string[] {
  return Object.entries(headers).flatMap(([name, value]) => {
    if (name.startsWith(":") || value === undefined) return [];
    return Array.isArray(value) ? value.flatMap((each) => [name, each]) : [name, value];
  });
}

/** Returns a flat list of headers as HTTP/2 takes them: by name in lower case. */
export function grouped(flat: readonly string[]): Record<string, string | string[]> {
  // A header may be called like what every object has.
  const headers: Record<string, string | string[]> = Object.create(null);
  for (let i = 0; i + 1 < flat.length; i += 2) {
    const name = (flat[i] as string).toLowerCase();
    const value = flat[i + 1] as string;
    headers[name] = name in headers ? [headers[name] ?? [], value].flat() : value;
  }
  return headers;
}

/** Tells whether a request has a body, or may have one. */
export function hasBody(request: IncomingMessage): boolean {
  const { headers } = request;
  if (headers["transfer-encoding"] !== undefined) return true;
  if (headers["content-length"] !== undefined) return headers["content-length"] !== "0";
  return isHttp2(request) && !(request as unknown as Http2ServerRequest).stream.endAfterHeaders;
}

/** Tells, once a body has ended, whether it is whole: in HTTP/2 an upload that is given up ends like any other. */
export function isWhole(request: IncomingMessage): boolean {
  if (!isHttp2(request)) return request.complete;
  const { aborted, stream } = request as unknown as Http2ServerRequest;
  return !aborted && !stream.aborted && (stream.rstCode ?? 0) === 0;
}

/** Begins an answer; `headers` are flat. @throws if they cannot be sent */
export function beginAnswer(
  request: IncomingMessage,
  response: ServerResponse,
  { status, message, headers }: { status: number; message: string; headers: string[] },
): void {
  if (isHttp2(request)) response.writeHead(status, grouped(headers));
  else response.writeHead(status, message, headers);
}

/** Takes back the head of an answer that could not be sent: what is left of it would spoil the next one as well. */
export function forgetHead(request: IncomingMessage, response: ServerResponse): void {
  for (const name of response.getHeaderNames()) response.removeHeader(name);
  if (!isHttp2(request)) response.statusMessage = "";
  // node:http2 keeps a Date that it is told to remove.
  else if (response.hasHeader("date")) response.setHeader("date", new Date().toUTCString());
}

/** Adds what follows a body; `trailers` are flat. */
export function addTrailers(response: ServerResponse, trailers: readonly string[]): void {
  for (let i = 0; i + 1 < trailers.length; i += 2) {
    response.addTrailers({ [trailers[i] as string]: trailers[i + 1] as string });
  }
}

/** Tells whether nobody gets the answer any more. */
export function isGone(response: ServerResponse): boolean {
  return streamOf(response)?.destroyed ?? response.closed;
}

/** Ends a request of which nothing more is read. On HTTP/2 its stream would outlive it until the client ends it, too. */
export function endRequest(request: IncomingMessage): void {
  if (isHttp2(request)) (request as unknown as Http2ServerRequest).stream.close(constants.NGHTTP2_NO_ERROR);
  else request.destroy();
}

/** Ends an answer in the middle, so that nobody takes it for whole. */
export function cutOff(response: ServerResponse): void {
  const stream = streamOf(response);
  if (stream) stream.close(constants.NGHTTP2_INTERNAL_ERROR);
  else response.destroy();
}

function streamOf(response: ServerResponse): ServerHttp2Stream | undefined {
  return (response as unknown as Partial<Http2ServerResponse>).stream;
}
