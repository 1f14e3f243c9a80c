/** Sends the router's own answers: refusals and redirects. @module */
import { Buffer } from "node:buffer";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerResponse } from "node:http2";
import { DISCARD_MS } from "../../process/ports.ts";
import type { Refusal } from "../refusal.ts";
import { SAFE } from "../safeheaders.ts";
import { grpcFormOf, grpcRefusal } from "./grpcform.ts";
import { cutOff, endRequest, forgetHead, isHttp2 } from "./versions.ts";

/**
 * Answers `{"detail": …}`. If another answer has begun, closes the connection so that the client sees an incomplete
 * answer.
 */
export function sendRefusal(request: IncomingMessage, response: ServerResponse, refusal: Refusal): void {
  if (response.headersSent) {
    cutOff(response);
    return;
  }
  if (grpcFormOf(request)?.kind === "native") return sendGrpcRefusal(request, response, refusal);
  forgetHead(request, response);
  const body = Buffer.from(JSON.stringify({ detail: refusal.detail }));
  response.writeHead(refusal.status, {
    "Content-Type": "application/json",
    "Content-Length": body.length,
    "Cache-Control": "no-store",
    ...SAFE,
    ...refusal.headers,
    // Without "100 Continue", a client may send its body or not, so the next request cannot be found in the stream.
    ...(request.headers.expect !== undefined && !isHttp2(request) ? { Connection: "close" } : {}),
  });
  response.end(body);
  discard(request);
}

/** Sends the cause in the headers, which are the whole answer: gRPC clients do not show a body. */
function sendGrpcRefusal(request: IncomingMessage, response: ServerResponse, refusal: Refusal): void {
  const { stream } = response as unknown as Http2ServerResponse;
  // Not sent: this status is for the log and the metrics.
  response.statusCode = refusal.status;
  stream?.respond(
    { ":status": 200, ...SAFE, ...refusal.headers, ...grpcRefusal(refusal.status, refusal.detail) },
    { endStream: true },
  );
  discard(request);
}

/** Redirects a browser and sets a cookie. */
export function sendRedirect(
  response: ServerResponse,
  { location, cookie }: { location: string; cookie: string },
): void {
  response.writeHead(303, {
    Location: location,
    "Set-Cookie": cookie,
    "Content-Length": 0,
    "Cache-Control": "no-store",
    ...SAFE,
  });
  response.end();
}

/** Reads and drops the rest of a request for a while, then closes its connection or HTTP/2 stream. */
export function discard(request: IncomingMessage): void {
  if (request.complete || request.destroyed) return;
  request.resume();
  const timer = setTimeout(() => endRequest(request), DISCARD_MS);
  request.once("close", () => clearTimeout(timer));
}
