/**
 * Checks every request: whether the runtime is stopping, whether the caller has the token, and whether a page of
 * another site sent it.
 * @module
 */
import type { Context, MiddlewareHandler } from "hono";
import { ANONYMOUS_HEADER } from "../../api/router/protocol.ts";
import { isRebound, reboundMessage } from "../../process/hosts.ts";
import type { Log } from "../../process/log.ts";
import type { Root } from "../confine.ts";
import type { RefusalCode } from "../files/refused.ts";
import type { TokenCheck } from "../token.ts";
import type { Users } from "../users/users.ts";
import type { HTTPEnv } from "./httppath.ts";

/** What each app of the runtime is created with. */
export interface AppOptions {
  /** The files that clients reach. */
  root: Root;
  users: Users;
  /** Undefined: no token is required. */
  token: TokenCheck | undefined;
  /** Other names of this machine; see {@link isRebound}. */
  allowedHosts: readonly string[];
  /** Records that the sandbox is in use. Called for each request, except for those of {@link GuardOptions.open}. */
  touch(): void;
  /** Aborts when the runtime begins to stop. */
  stop: AbortSignal;
  log: Log;
}

/** What to check, and how to answer refused requests. */
interface GuardOptions {
  /** Returns whether requests for this path are allowed without a token, and while the runtime stops. */
  open(path: string): boolean;
  stopping(): boolean;
  /** Undefined: no token is required. */
  token: TokenCheck | undefined;
  /** Returns the request's credentials, as {@link TokenCheck} reads them. @default its header `Authorization` */
  credentials?(c: Context<HTTPEnv>): string | undefined;
  /** Other names of this machine; see {@link isRebound}. */
  allowedHosts: readonly string[];
  /** Called for each allowed request, because it means that the sandbox is in use. */
  touch(): void;
  refuse(code: RefusalCode, message: string, headers: Record<string, string>): Response;
}

/**
 * Creates the middleware. It answers 503 while the runtime stops, and 401 without the mounted token. If no token is
 * mounted, it answers 403 to pages of other sites.
 */
export function createGuard(
  { open, stopping, token, credentials, allowedHosts, touch, refuse }: GuardOptions,
): MiddlewareHandler<HTTPEnv> {
  return async (c, next) => {
    if (open(c.req.path)) return await next();
    if (stopping()) {
      return refuse("UNAVAILABLE", STOPPING, { Connection: "close" });
    }
    const verdict = await token?.(credentials ? credentials(c) : c.req.header("Authorization")) ?? "none";
    if (verdict === "missing" || verdict === "wrong") {
      return refuse("UNAUTHENTICATED", tokenRefusal(verdict), CHALLENGE);
    }
    const why = verdict === "none"
      ? pageRefusal((name) => c.req.header(name), c.env?.incoming?.socket.localAddress, allowedHosts)
      : undefined;
    if (why !== undefined) return refuse("PERMISSION_DENIED", why, {});
    touch();
    return await next();
  };
}

/**
 * Returns why a request is refused although no token is required: any site in a user's browser could send it, or a router
 * passes it on from a client without a token. Undefined if it is allowed.
 */
export function pageRefusal(
  header: (name: "origin" | "host" | "x-forwarded-host" | typeof ANONYMOUS_KEY) => string | undefined,
  localAddress: string | undefined,
  allowedHosts: readonly string[],
): string | undefined {
  if (header(ANONYMOUS_KEY) !== undefined) return ANONYMOUS;
  if (isForeign(header)) return "Cannot let you in: a page of another origin needs a token";
  const asked = { host: header("host"), localAddress };
  return isRebound(asked, allowedHosts) ? reboundMessage(asked) : undefined;
}

const ANONYMOUS_KEY = ANONYMOUS_HEADER.toLowerCase() as "x-sandbox-anonymous";
const ANONYMOUS = "Cannot let you in: the ports of programs are public, but this port is the runtime's";

/** Message for requests that arrive while the runtime stops; their work would soon be killed. */
export const STOPPING = "Cannot take requests: the runtime is stopping";

/** Header of each 401. */
export const CHALLENGE = { "WWW-Authenticate": "Bearer" };

/** Returns the message for a caller without the right token. */
export function tokenRefusal(verdict: "missing" | "wrong"): string {
  return verdict === "missing"
    ? "Cannot let you in: the request has no bearer token"
    : "Cannot let you in: the token is another one";
}

/**
 * Returns whether a request comes from a page of another origin than the requested host. Clients other than browsers
 * send no origin.
 *
 * Behind a router, the client requested another host than the runtime sees, so `X-Forwarded-Host` is compared, too. A
 * page cannot set that header itself.
 */
export function isForeign(header: (name: "origin" | "host" | "x-forwarded-host") => string | undefined): boolean {
  const origin = header("origin");
  if (origin === undefined) return false;
  const from = URL.parse(origin)?.host;
  return from === undefined || (from !== header("host") && from !== header("x-forwarded-host"));
}
