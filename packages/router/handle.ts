/**
 * Handles a request from its head on: answers it, or forwards it as soon as it is admitted and its sandbox can be
 * reached.
 * @module
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Tracer } from "@opentelemetry/api";
import { errorFields, type Log } from "../process/log.ts";
import type { ProtoOf } from "./access/clientaddress.ts";
import type { BrowserOptions } from "./access/credentials.ts";
import type { Gate } from "./access/gate.ts";
import type { Recheck } from "./access/recheck.ts";
import type { RuntimeCredentials } from "./access/runtimekey.ts";
import { admit, type AdmittedRequest } from "./admit.ts";
import { SAFE_HEADERS, sendRedirect, sendRefusal } from "./answer.ts";
import type { Dashboard } from "./dashboard/dashboard.ts";
import type { E2BAccess } from "./e2b/access.ts";
import { isPreflight, PREFLIGHT_ANSWER } from "./e2b/request.ts";
import { hostOf, type RouteOptions, type Target, targetsFromHost } from "./destination.ts";
import type { ClientLimits, NamespaceLimit } from "./limits.ts";
import type { Observer, RequestRecord } from "./observe/observer.ts";
import type { Exchange, ProxySettings } from "./proxy/exchange.ts";
import { forward } from "./proxy/forward.ts";
import { forwardGrpc } from "./proxy/forwardgrpc.ts";
import { grpcFormOf } from "./proxy/grpcform.ts";
import { coalesce, coalesceBody } from "./proxy/streams.ts";
import { forwardUpgrade, refuseRaw, type UpgradeExchange } from "./proxy/upgrade.ts";
import { cutOff, hasBody, isHttp2 } from "./proxy/versions.ts";
import { INTERNAL, isRefusal, type Refusal } from "./refusal.ts";
import { NO_UPGRADE, type TerminalPage } from "./terminal/terminalpage.ts";
import { type Locator, waitFor, waitForUpgrade } from "./wake/hold.ts";
import { POLL_HEADER, sendPhase } from "./wake/page.ts";

export interface HandlerParts {
  routing: RouteOptions;
  /** True if the Sandbox exists and is not an unclaimed member of a pool. */
  exists(target: Target): boolean;
  gate: Gate;
  e2b: E2BAccess;
  browser: BrowserOptions;
  /** True: with path routing, the router rewrites addresses and cookies in answers so that they stay below the path. */
  pathRoutingRewriteResponses: boolean;
  /** Further host names of this machine that requests without a token may use; localhost is always allowed. */
  allowedHosts: readonly string[];
  /** Undefined: the router serves no dashboard. */
  dashboard: Dashboard | undefined;
  /** Undefined: the router serves no terminal page, and its path belongs to the sandbox. */
  terminalPage: TerminalPage | undefined;
  clientLimits: ClientLimits | undefined;
  recheck: Recheck;
  protoOf: ProtoOf;
  /** Limits how many requests and connections of other protocols are open at a time. */
  namespaceLimit: NamespaceLimit;
  locator: Locator;
  runtimeCredentials: RuntimeCredentials;
  settings: ProxySettings;
  observer: Observer;
  log: Log;
  /** True: the router adds a trace context to a request that has none. */
  traceContext: boolean;
  /** Undefined: the router records no spans. */
  tracer: Tracer | undefined;
}

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
const POD_REPLACED: Refusal = { status: 503, detail: "Cannot bind: the Pod of the sandbox has just been replaced." };
const NO_TUNNEL: Refusal = { status: 405, detail: "The router does not proxy CONNECT." };

/** Creates the handler from its parts. */
export function createHandler(parts: HandlerParts): Handler {
  const { observer } = parts;
  const handler: Handler = {
    request(request, response, expectsContinue) {
      if (isHealthCheck(request, parts.routing)) return answerHealth(response);
      if (parts.e2b.isServed() && isPreflight(request)) return void response.writeHead(204, PREFLIGHT_ANSWER).end();
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
          return sendPhase(response, parts.locator.reachability(passed.target));
        }
        if (pass?.redirect) return sendRedirect(response, pass.redirect);
        if (parts.terminalPage?.owns(passed)) return parts.terminalPage.answer(request, response, passed);
        const end = (refusal: Refusal) => sendRefusal(request, response, refusal);
        if (passed.check) parts.recheck({ stream: response, ...passed, check: passed.check, end });
        if (passed.onEnded) response.once("close", passed.onEnded(() => cutOff(response)));
        dispatch(parts, record, passed, { request, response, expectsContinue });
      });
    },
    upgrade(request, socket, head) {
      socket.on("error", () => {});
      coalesce(socket);
      const record = observer.begin(request);
      let status = GONE;
      socket.once("close", () => observer.end(record, status));
      if (parts.dashboard?.owns(request)) {
        const onAnswered = (answered: number) => void (status = answered);
        return parts.dashboard.upgrade({ request, socket, head, serve: handler.request, onAnswered });
      }
      const refuse = (refusal: Refusal) => {
        status = refusal.status;
        refuseRaw(socket, refusal);
      };
      admit(parts, record, socket, (passed) => {
        if (isRefusal(passed)) return refuse(passed);
        if (parts.terminalPage?.owns(passed)) return refuse(NO_UPGRADE);
        const end = (refusal: Refusal) => status === GONE ? refuse(refusal) : socket.destroy();
        if (passed.check) parts.recheck({ stream: socket, ...passed, check: passed.check, end });
        if (passed.onEnded) socket.once("close", passed.onEnded(() => socket.destroy()));
        const onAnswered = (answered: number) => status = answered || GONE;
        dispatchUpgrade(parts, record, { ...passed, request, socket, head, onAnswered }, refuse);
      });
    },
  };
  return handler;
}

/** The logged status of a request whose client closed the connection before there was an answer (as in nginx). */
const GONE = 499;

/** True for a load balancer's health check. A request that names a sandbox is for that sandbox's own `/healthz`. */
function isHealthCheck(request: IncomingMessage, { domain }: RouteOptions): boolean {
  const { url, method, headers } = request;
  if (url !== "/healthz" || method !== "GET") return false;
  if (headers["x-sandbox-id"] !== undefined || headers["e2b-sandbox-id"] !== undefined) return false;
  return domain === undefined || targetsFromHost(hostOf(request), domain) === undefined;
}

function answerHealth(response: ServerResponse): void {
  response.writeHead(200, { "Content-Type": "application/json", ...SAFE_HEADERS });
  response.end('{"status":"ok"}');
}

/** Forwards a request to its sandbox. In every case the client gets an answer, or the connection is closed. */
function dispatch(
  { locator, runtimeCredentials, settings, observer, log }: HandlerParts,
  record: RequestRecord,
  passed: AdmittedRequest,
  incoming: Pick<Exchange, "request" | "response" | "expectsContinue">,
): void {
  const { request, response } = incoming;
  const go = (address: string | Refusal, addedToResponse: string[]) => {
    if (typeof address !== "string") return sendRefusal(request, response, address);
    const form = grpcFormOf(request);
    const exchange = { ...incoming, ...passed, addedToResponse: [...passed.addedToResponse, ...addedToResponse] };
    if (form) forwardGrpc(exchange, form, address, settings);
    else if (passed.target.isDelivery) forwardBinding(exchange, address);
    else forward(exchange, address, settings);
  };
  const forwardBinding = async (exchange: Exchange, address: string) => {
    const { target } = exchange;
    const podUID = settings.podUIDAt(target, address);
    const credentials = await runtimeCredentials.headers(target.namespace, podUID);
    if (response.writableEnded || response.destroyed) return;
    if (isRefusal(credentials)) return sendRefusal(request, response, credentials);
    // Another Pod, also of another sandbox, may have got the address in the meantime. It must not get the values.
    if (settings.podUIDAt(target, address) !== podUID) return sendRefusal(request, response, POD_REPLACED);
    forward({ ...exchange, added: [...exchange.added, ...credentials] }, address, settings);
  };
  const address = locator.now(passed.target);
  if (address !== undefined) return go(address, []);
  waitFor(locator, passed.target, request, response).then((held) => {
    // The request may have been refused while it waited, because its token has expired.
    if (!held || response.writableEnded) return;
    observer.held(record, held.ms);
    go(held.address, ["Server-Timing", held.timing]);
  }).catch((error) => {
    log("error", "Cannot wait for a sandbox", errorFields(error));
    go(INTERNAL, []);
  });
}

/** Forwards a request to switch protocols, such as to WebSocket. */
function dispatchUpgrade(
  { locator, settings, observer, log }: HandlerParts,
  record: RequestRecord,
  exchange: UpgradeExchange,
  refuse: (refusal: Refusal) => void,
): void {
  const go = (address: string | Refusal) => {
    if (typeof address !== "string") return refuse(address);
    forwardUpgrade(exchange, address, settings);
  };
  const address = locator.now(exchange.target);
  if (address !== undefined) return go(address);
  waitForUpgrade(locator, exchange.target, exchange.socket).then((held) => {
    if (!held) return;
    observer.held(record, held.ms);
    go(held.address);
  }).catch((error) => {
    log("error", "Cannot wait for a sandbox", errorFields(error));
    refuse(INTERNAL);
  });
}
