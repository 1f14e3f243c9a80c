/** What becomes of a request, from its head to the proxy. Forwards nothing itself. @module */
import type { IncomingMessage, ServerResponse } from "node:http";
import { sendRefusal } from "./proxy/answer.ts";
import { forward, type ProxySettings } from "./proxy/forward.ts";
import type { Reach } from "./reach.ts";
import { isRefusal, type Refusal } from "./refusal.ts";
import { targetFromHeaders } from "./target/headers.ts";
import { originForm } from "./target/path.ts";
import type { Target } from "./target/target.ts";

export interface HandlerParts {
  reach: Reach;
  settings: ProxySettings;
  allowLoopback: boolean;
}

/** Takes a request; `expectsContinue`: the client waits for a sign before it sends its body. */
export type Handler = (request: IncomingMessage, response: ServerResponse, expectsContinue: boolean) => void;

/** Makes the handler. */
export function createHandler(parts: HandlerParts): Handler {
  return (request, response, expectsContinue) => {
    if (isHealthCheck(request)) return answerHealth(response);
    const path = originForm(request.url ?? "");
    const target = path === undefined ? INVALID_PATH : targetFromHeaders(request.headers, parts.allowLoopback);
    if (isRefusal(target)) return sendRefusal(request, response, target);
    const go = (place: string | Refusal) => {
      if (typeof place !== "string") return sendRefusal(request, response, place);
      const exchange = {
        request,
        response,
        target,
        path: path as string,
        proto: "http",
        extra: [],
        expectsContinue,
        locate: () => locate(parts.reach, target),
      } as const;
      forward({ ...exchange, extra: [] }, place, parts.settings);
    };
    const place = parts.reach.now(target);
    if (place !== undefined) go(place);
    else parts.reach.wait(target).then((found) => response.closed || go(found));
  };
}

const INVALID_PATH: Refusal = { status: 400, detail: "Invalid request path." };

async function locate(reach: Reach, target: Target): Promise<string | Refusal> {
  return reach.now(target) ?? await reach.wait(target);
}

/** What a load balancer asks; a sandbox's own `/healthz` is asked for with X-Sandbox-ID. */
function isHealthCheck({ url, method, headers }: IncomingMessage): boolean {
  return url === "/healthz" && method === "GET" && headers["x-sandbox-id"] === undefined;
}

function answerHealth(response: ServerResponse): void {
  response.writeHead(200, { "Content-Type": "application/json" });
  response.end('{"status":"ok"}');
}
