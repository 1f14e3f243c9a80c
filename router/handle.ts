/** What becomes of a request, from its head to the proxy. Forwards nothing itself. @module */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { sendRefusal } from "./proxy/answer.ts";
import { forward } from "./proxy/forward.ts";
import { refuseRaw } from "./proxy/raw.ts";
import type { ProxySettings } from "./proxy/settings.ts";
import { forwardUpgrade } from "./proxy/upgrade.ts";
import type { Reach } from "./reach.ts";
import { isRefusal, type Refusal } from "./refusal.ts";
import { targetFromHeaders } from "./target/headers.ts";
import { originForm } from "./target/path.ts";
import { badRequest, type Target } from "./target/target.ts";

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
export function createHandler({ reach, settings, allowLoopback }: HandlerParts): Handler {
  const routed = (request: IncomingMessage) => routeOf(request, allowLoopback);
  const again = async (target: Target) => reach.now(target) ?? await reach.wait(target);
  return {
    request(request, response, expectsContinue) {
      if (isHealthCheck(request)) return answerHealth(response);
      const route = routed(request);
      if (isRefusal(route)) return sendRefusal(request, response, route);
      const { target, path } = route;
      const go = (place: string | Refusal) => {
        if (typeof place !== "string") return sendRefusal(request, response, place);
        const locate = () => again(target);
        forward(
          { request, response, target, path, proto: "http", extra: [], expectsContinue, locate },
          place,
          settings,
        );
      };
      const place = reach.now(target);
      if (place !== undefined) go(place);
      else reach.wait(target).then((found) => response.closed || go(found));
    },
    upgrade(request, socket, head) {
      const route = routed(request);
      if (isRefusal(route)) return refuseRaw(socket, route);
      const { target, path } = route;
      const go = (place: string | Refusal) => {
        if (typeof place !== "string") return refuseRaw(socket, place);
        const locate = () => again(target);
        forwardUpgrade(
          { request, socket, head, target, path, proto: "http", locate, onAnswered() {} },
          place,
          settings,
        );
      };
      socket.on("error", () => {});
      again(target).then((found) => socket.destroyed || go(found));
    },
  };
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
