/** What becomes of a request, from its head to the proxy. Forwards nothing itself. @module */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { sendRefusal } from "./proxy/answer.ts";
import { type Exchange, forward } from "./proxy/forward.ts";
import { refuseRaw } from "./proxy/raw.ts";
import type { ProxySettings } from "./proxy/settings.ts";
import { forwardUpgrade, type UpgradeExchange } from "./proxy/upgrade.ts";
import type { Reach } from "./reach.ts";
import { isRefusal, type Refusal } from "./refusal.ts";
import { targetFromHeaders } from "./target/headers.ts";
import { originForm } from "./target/path.ts";
import { badRequest, type Target } from "./target/target.ts";
import { POLL_HEADER, sendPhase } from "./wake/page.ts";
import { waitFor, waitForRaw } from "./waiting.ts";

export interface HandlerParts {
  reach: Reach;
  settings: ProxySettings;
  allowLoopback: boolean;
}

/** What takes requests. */
export interface Handler {
  /** `expectsContinue`: the client waits for a sign before it sends its body. */
  request(request: IncomingMessage, response: ServerResponse, expectsContinue: boolean): void;
  /** Takes a request for another protocol; `head` is what came after it. */
  upgrade(request: IncomingMessage, socket: Socket, head: Uint8Array): void;
}

/** Makes the handler. */
export function createHandler(parts: HandlerParts): Handler {
  const { allowLoopback } = parts;
  return {
    request(request, response, expectsContinue) {
      if (isHealthCheck(request)) return answerHealth(response);
      const route = routeOf(request, allowLoopback);
      if (isRefusal(route)) return sendRefusal(request, response, route);
      serve(parts, route, { request, response, expectsContinue });
    },
    upgrade(request, socket, head) {
      socket.on("error", () => {});
      const route = routeOf(request, allowLoopback);
      if (isRefusal(route)) return refuseRaw(socket, route);
      serveUpgrade(parts, route, { request, socket, head });
    },
  };
}

type Incoming = Pick<Exchange, "request" | "response" | "expectsContinue">;
type IncomingUpgrade = Pick<UpgradeExchange, "request" | "socket" | "head">;

function serve({ reach, settings }: HandlerParts, { target, path }: Route, incoming: Incoming): void {
  const { request, response } = incoming;
  if (request.headers[POLL_HEADER] !== undefined) return sendPhase(response, reach.standing(target));
  const go = (place: string | Refusal, extra: string[]) => {
    if (typeof place !== "string") return sendRefusal(request, response, place);
    forward({ ...incoming, target, path, proto: "http", extra, locate: () => locate(reach, target) }, place, settings);
  };
  const place = reach.now(target);
  if (place !== undefined) return go(place, []);
  waitFor(reach, target, request, response).then((held) => held && go(held.place, ["Server-Timing", held.timing]));
}

function serveUpgrade({ reach, settings }: HandlerParts, { target, path }: Route, incoming: IncomingUpgrade): void {
  const go = (place: string | Refusal) => {
    if (typeof place !== "string") return refuseRaw(incoming.socket, place);
    const exchange = { ...incoming, target, path, proto: "http", locate: () => locate(reach, target), onAnswered() {} };
    forwardUpgrade(exchange as UpgradeExchange, place, settings);
  };
  const place = reach.now(target);
  if (place !== undefined) return go(place);
  waitForRaw(reach, target, incoming.socket).then((held) => held && go(held.place));
}

/** Finds the address anew for another try: the sandbox may have moved. */
async function locate(reach: Reach, target: Target): Promise<string | Refusal> {
  return reach.now(target) ?? (await reach.hold(target, new AbortController().signal)).place;
}

interface Route {
  target: Target;
  /** Path and query for the sandbox. */
  path: string;
}

function routeOf({ url, headers }: IncomingMessage, allowLoopback: boolean): Route | Refusal {
  const path = originForm(url ?? "");
  if (path === undefined) return badRequest("Invalid request path.");
  const target = targetFromHeaders(headers, allowLoopback);
  return isRefusal(target) ? target : { target, path };
}

/** What a load balancer asks; a sandbox's own `/healthz` is asked for with X-Sandbox-ID. */
function isHealthCheck({ url, method, headers }: IncomingMessage): boolean {
  return url === "/healthz" && method === "GET" && headers["x-sandbox-id"] === undefined;
}

function answerHealth(response: ServerResponse): void {
  response.writeHead(200, { "Content-Type": "application/json" });
  response.end('{"status":"ok"}');
}
