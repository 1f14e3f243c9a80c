/** Decides whether to admit a request, and which headers and path its sandbox gets. @module */
import type { IncomingMessage } from "node:http";
import type { Route, Target } from "../destination.ts";
import { isRefusal, type Refusal } from "../refusal.ts";
import { sameHost } from "../proxy/rewrite.ts";
import { isNavigation } from "../wake/page.ts";
import { type BrowserOptions, cookieOf, type Credentials, credentialsOf } from "./credentials.ts";
import { isForeign } from "./pages.ts";

/** A request's token, and the sandbox that it is for. */
export interface Ask {
  target: Target;
  token: string | undefined;
  /** Address of the client. */
  address: string;
  /** What the client requests: some tokens allow only one method or path. */
  request?: { method: string; path: string };
}

/** The client may connect. `client` names it for limits and logs: a user, a token's sandbox, or an address. */
export interface Grant {
  client: string;
  /** When the grant expires, in seconds since the epoch; undefined: not known. */
  expires?: number | undefined;
  /** UID of the only Sandbox that the client may reach; absent: any Sandbox of that name. */
  uid?: string;
}

/** Decides whether a client may reach a sandbox. */
export type Authorise = (ask: Ask) => Grant | Refusal | Promise<Grant | Refusal>;

/** Refuses a client without a valid token. Source of the texts: Agent Sandbox API, section 7.2. */
export function unauthorized(token: string | undefined): Refusal {
  const detail = token === undefined ? "Missing or invalid Authorization header." : "Invalid token.";
  return { status: 401, detail, headers: { "WWW-Authenticate": "Bearer" } };
}

/** An admitted request. */
export interface Pass {
  client: string;
  /** The request has no token that was checked. */
  isAnonymous: boolean;
  /** Pages of other origins may embed the answer, because its address contains a token. */
  mayEmbed: boolean;
  /** When the client's token expires, in seconds since the epoch; undefined: not known, or the client has no token. */
  expires: number | undefined;
  /** Path and query for the sandbox, without credentials. */
  path: string;
  /** UID of the only Sandbox that the client may reach; undefined: any Sandbox of that name. */
  uid: string | undefined;
  /**
   * Names of headers that the sandbox does not get, in lower case. `added`: headers that it gets instead, as a flat
   * list.
   */
  withheld: ReadonlySet<string>;
  added: string[];
  /** Redirects a browser to the same address without the token, which the cookie then carries. */
  redirect?: { location: string; cookie: string };
}

/** Decides about a request from `address`: at once if it need not ask the API server. */
export type Gate = (
  request: IncomingMessage,
  route: Route,
  address: string,
) => Pass | Refusal | Promise<Pass | Refusal>;

const NOTHING: ReadonlySet<string> = new Set();
/** Characters of scoped tokens and Kubernetes tokens. None of them ends a cookie. */
const TOKEN = /^[A-Za-z0-9._~+/=-]+$/;

/** A service worker would see the addresses of later navigations with their tokens. Pages cannot omit this header. */
const NO_WORKER: Refusal = { status: 403, detail: "Service workers are off where addresses may carry tokens." };

/** The gate of mode allow-all: admits every request. */
export function openGate(_: IncomingMessage, { path }: Route, address: string): Pass {
  return {
    client: `address:${address}`,
    isAnonymous: true,
    mayEmbed: false,
    expires: undefined,
    uid: undefined,
    path,
    withheld: NOTHING,
    added: [],
  };
}

/** Makes the gate of all other modes. */
export function createGate(authorise: Authorise, browser: BrowserOptions): Gate {
  return (request, route, address) => {
    if (browser.authzCookieQueryParam !== undefined && request.headers["service-worker"] === "script") return NO_WORKER;
    const credentials = credentialsOf(request, route, browser);
    if (credentials.source === "cookie" && isForeign(request, browser)) {
      return { status: 403, detail: "A page of another origin may not use this cookie." };
    }
    const { token } = credentials;
    const asked = { method: request.method ?? "", path: credentials.path };
    const grant = authorise({ target: route.target, token, address, request: asked });
    const passed = (found: Grant | Refusal) =>
      isRefusal(found) ? found : passOf(request, route, credentials, found, browser);
    return grant instanceof Promise ? grant.then(passed) : passed(grant);
  };
}

function passOf(
  request: IncomingMessage,
  route: Route,
  { token = "", source, path, ...rest }: Credentials,
  { client, expires, uid }: Grant,
  browser: BrowserOptions,
): Pass {
  const replaced = Object.entries(rest);
  const pass: Pass = {
    client,
    isAnonymous: source === undefined,
    mayEmbed: source === "query",
    expires,
    uid,
    path,
    withheld: replaced.length === 0 ? NOTHING : new Set(replaced.map(([name]) => name)),
    added: replaced.flatMap(([name, value]) => value === undefined ? [] : [name, value]),
  };
  if (source === "query" && browser.authzCookieName !== undefined && isNavigation(request) && TOKEN.test(token)) {
    const seconds = expires === undefined ? undefined : expires - Date.now() / 1000;
    pass.redirect = { location: sameHost(route.base + path), cookie: cookieOf(token, route, browser, seconds) };
  }
  return pass;
}
