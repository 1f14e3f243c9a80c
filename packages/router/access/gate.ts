/** Lets a request in or not, with what it may take along. Sends nothing. @module */
import type { IncomingMessage } from "node:http";
import type { Route, Target } from "../destination.ts";
import { isRefusal, type Refusal } from "../refusal.ts";
import { sameHost } from "../proxy/rewrite.ts";
import { isNavigation } from "../wake/page.ts";
import { type BrowserOptions, cookieOf, type Credentials, credentialsOf } from "./credentials.ts";
import { isForeign } from "./pages.ts";

/** A request's credentials and what they are for. */
export interface Ask {
  target: Target;
  token: string | undefined;
  /** Address that the request comes from. */
  address: string;
  /** What the client requests: some tokens allow only one method or path. */
  request?: { method: string; path: string };
}

/** The client may. `client` names it for limits and logs: a user, a token's sandbox, or an address. */
export interface Grant {
  client: string;
  /** Until when, in seconds since the epoch; undefined: not known. */
  expires?: number | undefined;
  /** UID of the only Sandbox that the client may reach; absent: any Sandbox of that name. */
  uid?: string;
}

/** Decides whether a client may reach a sandbox. */
export type Authorise = (ask: Ask) => Grant | Refusal | Promise<Grant | Refusal>;

/** Refuses who has not said who it is. Source of the texts: Agent Sandbox API, section 7.2. */
export function unauthorized(token: string | undefined): Refusal {
  const detail = token === undefined ? "Missing or invalid Authorization header." : "Invalid token.";
  return { status: 401, detail, headers: { "WWW-Authenticate": "Bearer" } };
}

/** A request that is let in. */
export interface Pass {
  client: string;
  /** Nobody has shown a token that was checked. */
  isAnonymous: boolean;
  /** Pages of other origins may embed the answer, because the address has a token. */
  mayEmbed: boolean;
  /** When the client's token expires, in seconds since the epoch; undefined: not known, or the client has no token. */
  expires: number | undefined;
  /** Path and query for the sandbox, without credentials. */
  path: string;
  /** UID of the only Sandbox that the client may reach; undefined: any Sandbox of that name. */
  uid: string | undefined;
  /** Headers that the sandbox does not get, in lower case, and some that it gets in their place, flat. */
  withheld: ReadonlySet<string>;
  added: string[];
  /** Where a browser goes on, with its token in a cookie instead of the address. */
  redirect?: { location: string; cookie: string };
}

/** Decides about a request from `address`; answers at once wherever it need not ask. */
export type Gate = (
  request: IncomingMessage,
  route: Route,
  address: string,
) => Pass | Refusal | Promise<Pass | Refusal>;

const NOTHING: ReadonlySet<string> = new Set();
/** What `v1` tokens and those of Kubernetes are made of: nothing that would end a cookie. */
const TOKEN = /^[A-Za-z0-9._~+/=-]+$/;

/** Its next navigation would be handed to it whole, with the token in the address. No page can leave out that header. */
const NO_WORKER: Refusal = { status: 403, detail: "Service workers are off where addresses may carry tokens." };

/** The gate of mode allow-all. */
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

/** Makes the gate of every other mode. */
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
