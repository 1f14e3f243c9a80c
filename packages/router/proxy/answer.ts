/** Sends what the router answers itself. Decides nothing. @module */
import { Buffer } from "node:buffer";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerResponse } from "node:http2";
import { DISCARD_MS } from "../../process/ports.ts";
import type { Refusal } from "../refusal.ts";
import { SAFE } from "../safeheaders.ts";
import { grpcFormOf, grpcRefusal } from "./grpcform.ts";
import { cutOff, endRequest, forgetHead, isHttp2 } from "./versions.ts";

/** Answers `{"detail": …}`; where a part of another answer is out already, ends the connection so that nobody takes it for whole. */
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
    // A client that was never told to go on may send its body or not: nobody knows where its next request begins.
    ...(request.headers.expect !== undefined && !isHttp2(request) ? { Connection: "close" } : {}),
  });
  response.end(body);
  discard(request);
}

/** Clients of gRPC show their callers no body: the cause is in the headers, which are all of the answer. */
function sendGrpcRefusal(request: IncomingMessage, response: ServerResponse, refusal: Refusal): void {
  const { stream } = response as unknown as Http2ServerResponse;
  // For the log and the metrics.
  response.statusCode = refusal.status;
  stream?.respond(
    { ":status": 200, ...SAFE, ...refusal.headers, ...grpcRefusal(refusal.status, refusal.detail) },
    { endStream: true },
  );
  discard(request);
}

/** Sends a browser on, with a cookie. */
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

/** Reads the rest of a request to nowhere for a while, then ends its connection, or its stream of one. */
export function discard(request: IncomingMessage): void {
  if (request.complete || request.destroyed) return;
  request.resume();
  const timer = setTimeout(() => endRequest(request), DISCARD_MS);
  request.once("close", () => clearTimeout(timer));
}
