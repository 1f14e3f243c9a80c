/**
 * Handles a request from its head on: the router answers some requests itself, `admit.ts` decides about all others, and
 * `dispatch.ts` forwards the admitted ones.
 * @module
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { admit } from "./admit.ts";
import { dispatch, dispatchUpgrade } from "./dispatch.ts";
import { hostOf, type RouteOptions, targetsFromHost } from "./destination.ts";
import type { HandlerParts } from "./handlerparts.ts";
import { sendRedirect, sendRefusal } from "./proxy/answer.ts";
import { coalesce, coalesceBody } from "./proxy/coalesce.ts";
import { refuseRaw } from "./proxy/upgrade.ts";
import { hasBody, isHttp2 } from "./proxy/versions.ts";
import { isRefusal, type Refusal } from "./refusal.ts";
import { SAFE } from "./safeheaders.ts";
import { NO_UPGRADE } from "./terminal/terminalpage.ts";
import { POLL_HEADER, sendPhase } from "./wake/page.ts";

/** Receives the requests of a port. */
export interface Handler {
  /** Handles a request. `expectsContinue`: the client waits for "100 Continue" before it sends its body. */
  request(request: IncomingMessage, response: ServerResponse, expectsContinue: boolean): void;
  /**
   * Handles a request to switch protocols, such as to WebSocket; `head` holds the bytes that came after the request.
   */
  upgrade(request: IncomingMessage, socket: Socket, head: Uint8Array): void;
}

const NO_BODY: Refusal = { status: 400, detail: "A HEAD request has no body." };
const NO_TUNNEL: Refusal = { status: 405, detail: "The router does not proxy CONNECT." };

/** Makes the handler from its parts. */
export function createHandler(parts: HandlerParts): Handler {
  const { observer } = parts;
  return {
    request(request, response, expectsContinue) {
      if (isHealthCheck(request, parts.routing)) return answerHealth(response);
      const record = observer.begin(request);
      response.once("close", () => observer.end(record, response.headersSent ? response.statusCode : GONE));
      // node:http2 would keep the stream open until the client ends it, although the request has been answered.
      if (request.method === "HEAD" && isHttp2(request) && hasBody(request)) {
        return sendRefusal(request, response, NO_BODY);
      }
      if (parts.dashboard?.owns(request)) {
        if (expectsContinue) response.writeContinue();
        return parts.dashboard.answer(request, response);
      }
      coalesceBody(request);
      if (request.method === "CONNECT") return sendRefusal(request, response, NO_TUNNEL);
      admit(parts, record, response, (passed, pass) => {
        if (isRefusal(passed)) return sendRefusal(request, response, passed);
        if (request.headers[POLL_HEADER] !== undefined) {
          return sendPhase(response, parts.reach.reachability(passed.target));
        }
        if (pass?.redirect) return sendRedirect(response, pass.redirect);
        if (parts.terminalPage?.owns(passed)) return parts.terminalPage.answer(request, response, passed);
        const end = (refusal: Refusal) => sendRefusal(request, response, refusal);
        if (passed.check) parts.recheck({ client: response, ...passed, check: passed.check, end });
        dispatch(parts, record, passed, { request, response, expectsContinue });
      });
    },
    upgrade(request, socket, head) {
      socket.on("error", () => {});
      coalesce(socket);
      const record = observer.begin(request);
      let status = GONE;
      socket.once("close", () => observer.end(record, status));
      const refuse = (refusal: Refusal) => {
        status = refusal.status;
        refuseRaw(socket, refusal);
      };
      admit(parts, record, socket, (passed) => {
        if (isRefusal(passed)) return refuse(passed);
        if (parts.terminalPage?.owns(passed)) return refuse(NO_UPGRADE);
        const end = (refusal: Refusal) => status === GONE ? refuse(refusal) : socket.destroy();
        if (passed.check) parts.recheck({ client: socket, ...passed, check: passed.check, end });
        const onAnswered = (answered: number) => status = answered || GONE;
        dispatchUpgrade(parts, record, { ...passed, request, socket, head, onAnswered }, refuse);
      });
    },
  };
}

/** The logged status of a request whose client closed the connection before there was an answer (as in nginx). */
const GONE = 499;

/** True for a load balancer's health check. A request that names a sandbox is for that sandbox's own `/healthz`. */
function isHealthCheck(request: IncomingMessage, { domain }: RouteOptions): boolean {
  const { url, method, headers } = request;
  if (url !== "/healthz" || method !== "GET" || headers["x-sandbox-id"] !== undefined) return false;
  return domain === undefined || targetsFromHost(hostOf(request), domain) === undefined;
}

function answerHealth(response: ServerResponse): void {
  response.writeHead(200, { "Content-Type": "application/json", ...SAFE });
  response.end('{"status":"ok"}');
}
