/**
 * Refuses requests for another Pod. A router can send such a request if it still has the IP address of a deleted Pod, and
 * this Pod has got that address.
 * @module
 */
import type { IncomingHttpHeaders, IncomingMessage, RequestListener } from "node:http";
import type { Http2ServerRequest } from "node:http2";
import { OTHER_POD, POD_UID_HEADER, REASON_HEADER } from "../../api/router/headers.ts";
import type { Upgrades } from "../listen.ts";

const HEADER = POD_UID_HEADER.toLowerCase();

/** Tells whether a request names another Pod. @param podUID this Pod's UID; empty: unknown, so that no request is refused */
export function isForOther(headers: IncomingHttpHeaders, podUID: string): boolean {
  const meant = headers[HEADER];
  return podUID !== "" && meant !== undefined && meant !== podUID;
}

/** Answers a request for another Pod with 421. Nothing of the request is carried out. */
export function refuseOther(
  request: IncomingMessage | Http2ServerRequest,
  response: { writeHead(status: number, headers: Record<string, string>): unknown; end(text: string): unknown },
): void {
  response.writeHead(421, {
    "Content-Type": "text/plain; charset=utf-8",
    [REASON_HEADER]: OTHER_POD,
    // Nothing reads the rest of the body, so the connection cannot be used again.
    ...("stream" in request ? {} : { Connection: "close" }),
  });
  response.end("Cannot take the request: it is for another Pod, which had this address before\n");
}

/** Wraps a listener so that it gets only requests for this Pod. */
export function forThisPod(podUID: string, listener: RequestListener): RequestListener {
  return (request, response) =>
    isForOther(request.headers, podUID) ? refuseOther(request, response) : listener(request, response);
}

/** Wraps upgrades so that they take only requests for this Pod. The listener answers all others. */
export function upgradesForThisPod(podUID: string, upgrades: Upgrades): Upgrades {
  return { ...upgrades, wants: (request) => !isForOther(request.headers, podUID) && upgrades.wants(request) };
}
