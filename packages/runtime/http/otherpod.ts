/**
 * Refuses requests that are for another Pod: a router may know an address longer than the Pod has it that it belonged to.
 * @module
 */
import type { IncomingHttpHeaders, IncomingMessage, RequestListener } from "node:http";
import type { Http2ServerRequest } from "node:http2";
import { OTHER_POD, POD_UID_HEADER, REASON_HEADER } from "../../api/router/headers.ts";
import type { Upgrades } from "../listen.ts";

const HEADER = POD_UID_HEADER.toLowerCase();

/** Tells whether a request names another Pod than this one. @param podUID empty: not known, so that none is refused */
export function isForOther(headers: IncomingHttpHeaders, podUID: string): boolean {
  const meant = headers[HEADER];
  return podUID !== "" && meant !== undefined && meant !== podUID;
}

/** Answers such a request: 421, and nothing of it is carried out. */
export function refuseOther(
  request: IncomingMessage | Http2ServerRequest,
  response: { writeHead(status: number, headers: Record<string, string>): unknown; end(text: string): unknown },
): void {
  response.writeHead(421, {
    "Content-Type": "text/plain; charset=utf-8",
    [REASON_HEADER]: OTHER_POD,
    // What is left of a body is nobody's.
    ...("stream" in request ? {} : { Connection: "close" }),
  });
  response.end("Cannot take the request: it is for another Pod, which had this address before\n");
}

/** Has a listener take requests for this Pod alone. */
export function forThisPod(podUID: string, listener: RequestListener): RequestListener {
  return (request, response) =>
    isForOther(request.headers, podUID) ? refuseOther(request, response) : listener(request, response);
}

/** The same for other protocols: what is for another Pod is answered as any other request. */
export function upgradesForThisPod(podUID: string, upgrades: Upgrades): Upgrades {
  return { ...upgrades, wants: (request) => !isForOther(request.headers, podUID) && upgrades.wants(request) };
}
