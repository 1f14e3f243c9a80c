/** Handles the differences between HTTP/1.1 and HTTP/2 that node:http2 does not hide. @module */
import type { IncomingMessage, ServerResponse } from "node:http";
import {
  constants,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from "node:http2";

/**
 * Tells whether a request came over HTTP/2: then it is a Http2ServerRequest, and its answer a Http2ServerResponse. Its
 * `httpVersion` proves nothing, as node:http also accepts `GET / HTTP/2.0`.
 */
export function isHttp2(request: IncomingMessage): boolean {
  return "stream" in request;
}

/** Returns the headers as a flat list. HTTP/2 may split a cookie into parts; they are joined, as in HTTP/1.1. */
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

/** Returns a flat list of headers in the form for HTTP/2: by name, in lower case. */
export function grouped(flat: readonly string[]): Record<string, string | string[]> {
  // No prototype: a header may have the name of a property that every object has.
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

/** Tells whether a body that has ended is complete. In HTTP/2, an aborted upload ends like a complete one. */
export function isWhole(request: IncomingMessage): boolean {
  if (!isHttp2(request)) return request.complete;
  const { aborted, stream } = request as unknown as Http2ServerRequest;
  return !aborted && !stream.aborted && (stream.rstCode ?? 0) === 0;
}

/** Begins an answer; `headers` is a flat list. @throws if they cannot be sent */
export function beginAnswer(
  request: IncomingMessage,
  response: ServerResponse,
  { status, message, headers }: { status: number; message: string; headers: string[] },
): void {
  if (isHttp2(request)) response.writeHead(status, grouped(headers));
  else response.writeHead(status, message, headers);
}

/** Removes the head of an answer that could not be sent: otherwise its headers would be part of the next answer. */
export function forgetHead(request: IncomingMessage, response: ServerResponse): void {
  for (const name of response.getHeaderNames()) response.removeHeader(name);
  if (!isHttp2(request)) response.statusMessage = "";
  // node:http2 does not remove its Date header.
  else if (response.hasHeader("date")) response.setHeader("date", new Date().toUTCString());
}

/** Adds trailers; `trailers` is a flat list. */
export function addTrailers(response: ServerResponse, trailers: readonly string[]): void {
  for (let i = 0; i + 1 < trailers.length; i += 2) {
    response.addTrailers({ [trailers[i] as string]: trailers[i + 1] as string });
  }
}

/** Tells whether the client can no longer get the answer. */
export function isGone(response: ServerResponse): boolean {
  return streamOf(response)?.destroyed ?? response.closed;
}

/** Ends a request whose rest is not read. In HTTP/2, the stream would otherwise stay open until the client ends it. */
export function endRequest(request: IncomingMessage): void {
  if (isHttp2(request)) (request as unknown as Http2ServerRequest).stream.close(constants.NGHTTP2_NO_ERROR);
  else request.destroy();
}

/** Ends an answer before its end, so that the client sees that it is incomplete. */
export function cutOff(response: ServerResponse): void {
  const stream = streamOf(response);
  if (stream) stream.close(constants.NGHTTP2_INTERNAL_ERROR);
  else response.destroy();
}

function streamOf(response: ServerResponse): ServerHttp2Stream | undefined {
  return (response as unknown as Partial<Http2ServerResponse>).stream;
}
