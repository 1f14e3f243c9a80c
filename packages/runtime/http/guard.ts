/** What every request to an app goes through first: is the runtime stopping, and does the caller have the token. @module */
import type { MiddlewareHandler } from "hono";
import { isRebound, reboundText } from "../../process/hosts.ts";
import type { RefusalCode } from "../files/refused.ts";
import type { TokenCheck } from "../token.ts";
import type { HTTPEnv } from "./httppath.ts";
import { isForeign } from "./origin.ts";

/** What to ask for, and how the app words a refusal. */
export interface GuardOptions {
  /** Requests that go through without a token, and while the runtime stops. */
  open(path: string): boolean;
  stopping(): boolean;
  /** Undefined: no token is asked for. */
  token: TokenCheck | undefined;
  /** Names of this machine, see {@link isRebound}. */
  allowedHosts: readonly string[];
  /** Called for each request that goes through: somebody uses the sandbox. */
  touch(): void;
  refuse(code: RefusalCode, message: string, headers: Record<string, string>): Response;
}

/** Makes the middleware: 503 while stopping, 401 without the token where one is mounted, 403 for other sites' pages where none is. */
export function createGuard(
  { open, stopping, token, allowedHosts, touch, refuse }: GuardOptions,
): MiddlewareHandler<HTTPEnv> {
  return async (c, next) => {
    if (open(c.req.path)) return await next();
    if (stopping()) {
      return refuse("UNAVAILABLE", STOPPING, { Connection: "close" });
    }
    const verdict = await token?.(c.req.header("Authorization")) ?? "none";
    if (verdict === "missing" || verdict === "wrong") return refuse("UNAUTHENTICATED", notLetIn(verdict), CHALLENGE);
    const why = verdict === "none"
      ? keptOut((name) => c.req.header(name), c.env?.incoming?.socket.localAddress, allowedHosts)
      : undefined;
    if (why !== undefined) return refuse("PERMISSION_DENIED", why, {});
    touch();
    return await next();
  };
}

/** Says why a request that needs no token is refused all the same: whatever site a browser has open could send it. */
export function keptOut(
  header: (name: "origin" | "host" | "x-forwarded-host") => string | undefined,
  localAddress: string | undefined,
  allowedHosts: readonly string[],
): string | undefined {
  if (isForeign(header)) return "Cannot let you in: a page of another origin needs a token";
  const asked = { host: header("host"), localAddress };
  return isRebound(asked, allowedHosts) ? reboundText(asked) : undefined;
}

/** What is asked for while the runtime stops would be killed in a moment. */
export const STOPPING = "Cannot take requests: the runtime is stopping";

/** Goes with each 401. */
export const CHALLENGE = { "WWW-Authenticate": "Bearer" };

/** Says why a caller is not let in. */
export function notLetIn(verdict: "missing" | "wrong"): string {
  return verdict === "missing"
    ? "Cannot let you in: the request has no bearer token"
    : "Cannot let you in: the token is another one";
}
