/** What becomes of a request, from its head to the proxy. Forwards nothing itself. @module */
import type { Tracer } from "@opentelemetry/api";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { isRebound, reboundText } from "../process/hosts.ts";
import { errorFields, type Log } from "../process/log.ts";
import { type BrowserOptions, foreignOrigin } from "./access/credentials.ts";
import { type Gate, openGate, type Pass } from "./access/gate.ts";
import type { Limits } from "./access/limits.ts";
import { chooseReading, type Chosen } from "./access/readings.ts";
import type { Dashboard } from "./dashboard/dashboard.ts";
import type { Observer, RequestRecord } from "./observe/observer.ts";
import { traceOf } from "./observe/tracecontext.ts";
import { sendRedirect, sendRefusal } from "./proxy/answer.ts";
import { coalesce, coalesceBody } from "./proxy/coalesce.ts";
import { type Exchange, forward } from "./proxy/forward.ts";
import { forwardUpgrade, refuseRaw, type UpgradeExchange } from "./proxy/upgrade.ts";
import type { ProxySettings } from "./proxy/settings.ts";
import { hasBody, isGone, isHttp2 } from "./proxy/versions.ts";
import type { Reach } from "./reach.ts";
import { isRefusal, type Refusal } from "./refusal.ts";
import { type Room, takePlaces } from "./room.ts";
import { hostOf, type Route, routeOf, type RouteOptions, type Target, targetsFromHost } from "./destination.ts";
import { NO_UPGRADE, type TerminalPage } from "./terminal/terminalpage.ts";
import { POLL_HEADER, sendPhase } from "./wake/page.ts";
import { waitFor, waitForRaw } from "./wake/waitingrequest.ts";

export interface HandlerParts {
  routing: RouteOptions;
  /** Tells whether there is such a Sandbox for anybody to reach. */
  exists(target: Target): boolean;
  gate: Gate;
  browser: BrowserOptions;
  /** Names of this machine beside localhost. */
  allowedHosts: readonly string[];
  /** Undefined: there is none. */
  dashboard: Dashboard | undefined;
  /** Undefined: sandboxes have the whole path. */
  terminalPage: TerminalPage | undefined;
  limits: Limits | undefined;
  /** For requests that are under way, and connections of other protocols. */
  room: Room;
  reach: Reach;
  settings: ProxySettings;
  observer: Observer;
  log: Log;
  /** Requests without a trace context get one. */
  traces: boolean;
  /** Undefined: no spans. */
  tracer: Tracer | undefined;
}

/** What takes requests. */
export interface Handler {
  /** `expectsContinue`: the client waits for a sign before it sends its body. */
  request(request: IncomingMessage, response: ServerResponse, expectsContinue: boolean): void;
  /** Takes a request for another protocol; `head` is what came after it. */
  upgrade(request: IncomingMessage, socket: Socket, head: Uint8Array): void;
}

/** A request for which it is known where it goes and that it may. */
type Passed = Pick<Exchange, "target" | "address" | "path" | "proto" | "withheld" | "added" | "locate">;

const NO_BODY: Refusal = { status: 400, detail: "A HEAD request has no body." };
const NO_TUNNEL: Refusal = { status: 405, detail: "The router does not proxy CONNECT." };

/** Makes the handler. */
export function createHandler(parts: HandlerParts): Handler {
  const { observer } = parts;
  return {
    request(request, response, expectsContinue) {
      if (isHealthCheck(request, parts.routing)) return answerHealth(response);
      const record = observer.begin(request);
      response.once("close", () => observer.end(record, response.headersSent ? response.statusCode : GONE));
      // node:http2 would keep its stream open until the client ends it, though it has been answered.
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
        serve(parts, record, passed, { request, response, expectsContinue });
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
        const onAnswered = (answered: number) => status = answered || GONE;
        serveUpgrade(parts, record, { ...passed, request, socket, head, onAnswered }, refuse);
      });
    },
  };
}

/** Source of the text: Agent Sandbox API, section 7.2. */
const INTERNAL: Refusal = { status: 500, detail: "An internal error occurred in the proxy." };

/** The status of a request whose client has gone before there was an answer. */
const GONE = 499;

/** Decides whether the request is let in; calls `then` with what follows, unless the client has gone meanwhile. */
function admit(
  parts: HandlerParts,
  record: RequestRecord,
  client: ServerResponse | Socket,
  then: (passed: Passed | Refusal, pass?: Pass) => void,
): void {
  const { routing, gate, exists, limits, room, observer, log } = parts;
  const { request, address } = record;
  const asked = routeOf(request, routing);
  if (isRefusal(asked)) return then(asked);
  const decided = ({ route, pass }: Chosen) => {
    const isKnown = exists(route.target);
    if (gate !== openGate) observer.decided(isKnown ? route.target.namespace : "", pass);
    if (isRefusal(pass)) return then(pass);
    const places = [() => limits?.(pass.client, performance.now()), () => room(route.target.namespace)];
    const refusal = reboundRefusal(parts, request, route, pass) ?? takePlaces(client, places);
    if (refusal) return then(refusal);
    observer.passed(record, route.target, pass.client, isKnown);
    const origin = isSocket(client) ? foreignOrigin(request, route, parts.browser, gate === openGate) : undefined;
    then(passedOf(parts, record, route, origin ? { ...pass, added: [...pass.added, ...origin] } : pass), pass);
  };
  const chosen = asked.readings ? chooseReading(asked, exists, gate, request, address) : gate(request, asked, address);
  if (!(chosen instanceof Promise)) return decided({ route: asked, pass: chosen });
  const isOver = () => isSocket(client) ? client.destroyed : isGone(client);
  chosen.then((found) => isOver() || decided("route" in found ? found : { route: asked, pass: found })).catch(
    (error) => {
      log("error", "Cannot handle a request", errorFields(error));
      if (!isOver()) then(INTERNAL);
    },
  );
}

/** Keeps out pages by whose names this machine was never known, where nobody has to show a token. */
function reboundRefusal(
  { allowedHosts }: HandlerParts,
  request: IncomingMessage,
  route: Route,
  { isAnonymous }: Pass,
): Refusal | undefined {
  const asked = { host: hostOf(request), localAddress: request.socket.localAddress };
  const isKept = isAnonymous && route.via !== "host" && isRebound(asked, allowedHosts);
  return isKept ? { status: 403, detail: reboundText(asked) } : undefined;
}

function isSocket(client: ServerResponse | Socket): client is Socket {
  return "remoteAddress" in client;
}

function passedOf(
  { reach, traces, tracer }: HandlerParts,
  record: RequestRecord,
  { target, base }: Route,
  { path, withheld, added }: Pass,
): Passed {
  const { request } = record;
  const trace = traces ? traceOf(request, target, tracer) : undefined;
  record.traceId = trace?.id ?? "";
  record.span = trace?.span;
  const more = [...added, ...trace?.added ?? []];
  if (base !== "") more.push("X-Forwarded-Prefix", base);
  return {
    target,
    address: record.address,
    path,
    proto: (request.socket as Partial<TLSSocket>).encrypted === true ? "https" : "http",
    withheld: trace?.withheld.length ? new Set([...withheld, ...trace.withheld]) : withheld,
    added: more,
    locate: async (signal) => reach.now(target) ?? (await reach.hold(target, signal)).place,
  };
}

function serve(
  { reach, settings, observer, log }: HandlerParts,
  record: RequestRecord,
  passed: Passed,
  incoming: Pick<Exchange, "request" | "response" | "expectsContinue">,
): void {
  const { request, response } = incoming;
  const go = (place: string | Refusal, extra: string[]) => {
    if (typeof place !== "string") return sendRefusal(request, response, place);
    forward({ ...incoming, ...passed, extra }, place, settings);
  };
  const place = reach.now(passed.target);
  if (place !== undefined) return go(place, []);
  waitFor(reach, passed.target, request, response).then((held) => {
    if (!held) return;
    observer.held(record, held.ms);
    go(held.place, ["Server-Timing", held.timing]);
  }).catch((error) => {
    log("error", "Cannot wait for a sandbox", errorFields(error));
    go(INTERNAL, []);
  });
}

function serveUpgrade(
  { reach, settings, observer, log }: HandlerParts,
  record: RequestRecord,
  exchange: UpgradeExchange,
  refuse: (refusal: Refusal) => void,
): void {
  const go = (place: string | Refusal) => {
    if (typeof place !== "string") return refuse(place);
    forwardUpgrade(exchange, place, settings);
  };
  const place = reach.now(exchange.target);
  if (place !== undefined) return go(place);
  waitForRaw(reach, exchange.target, exchange.socket).then((held) => {
    if (!held) return;
    observer.held(record, held.ms);
    go(held.place);
  }).catch((error) => {
    log("error", "Cannot wait for a sandbox", errorFields(error));
    refuse(INTERNAL);
  });
}

/** What a load balancer asks; a sandbox's own `/healthz` is asked for by its name. */
function isHealthCheck(request: IncomingMessage, { domain }: RouteOptions): boolean {
  const { url, method, headers } = request;
  if (url !== "/healthz" || method !== "GET" || headers["x-sandbox-id"] !== undefined) return false;
  return domain === undefined || targetsFromHost(hostOf(request), domain) === undefined;
}

function answerHealth(response: ServerResponse): void {
  response.writeHead(200, { "Content-Type": "application/json" });
  response.end('{"status":"ok"}');
}
