/** Decides whether to admit a request, and which headers and path its sandbox gets. @module */
import type { IncomingMessage } from "node:http";
import { badRequest, type Route, type Target } from "../destination.ts";
import { sameHost } from "../proxy/answerheaders.ts";
import { isRefusal, type Refusal } from "../refusal.ts";
import { isNavigation } from "../wake/page.ts";
import { type BrowserOptions, cookieOf, type Credentials, credentialsOf } from "./credentials.ts";
import { isCrossOrigin } from "./crossorigin.ts";

/** A request's token, and the sandbox that it is for. */
export interface AccessRequest {
  target: Target;
  token: string | undefined;
  /** Address of the client. */
  address: string;
  /** What the client requests: some tokens allow only one method or path. */
  request?: { method: string; path: string };
}

/** The client may connect. `client` names it for limits and logs: a user, a token's sandbox, or an address. */
export interface AccessGrant {
  client: string;
  /** When the grant expires, in seconds since the epoch; undefined: not known. */
  expires?: number | undefined;
  /** UID of the only Sandbox that the client may reach; absent: any Sandbox of that name. */
  uid?: string;
}

/** Decides whether a client may reach a sandbox. */
export type Authorise = (ask: AccessRequest) => AccessGrant | Refusal | Promise<AccessGrant | Refusal>;

/** An admitted request. */
export interface Admission {
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

/** Decides about a request from `address`. It returns a promise only if it has to ask the API server. */
export type Gate = (
  request: IncomingMessage,
  route: Route,
  address: string,
) => Admission | Refusal | Promise<Admission | Refusal>;

const NO_HEADERS: ReadonlySet<string> = new Set();
/** Characters of scoped tokens and Kubernetes tokens. None of them ends a cookie. */
const TOKEN = /^[A-Za-z0-9._~+/=-]+$/;

/** A service worker would see the addresses of later navigations with their tokens. Pages cannot omit this header. */
const NO_WORKER: Refusal = { status: 403, detail: "Service workers are off where addresses may carry tokens." };

/** The gate of mode allow-all: admits every request. */
export function openGate(_: IncomingMessage, { path }: Route, address: string): Admission {
  return {
    client: `address:${address}`,
    isAnonymous: true,
    mayEmbed: false,
    expires: undefined,
    uid: undefined,
    path,
    withheld: NO_HEADERS,
    added: [],
  };
}

/** Creates the gate of all other modes. */
export function createGate(authorise: Authorise, browser: BrowserOptions): Gate {
  return (request, route, address) => {
    if (browser.authzCookieQueryParam !== undefined && request.headers["service-worker"] === "script") return NO_WORKER;
    const credentials = credentialsOf(request, route, browser);
    if (credentials.source === "cookie" && isCrossOrigin(request, browser)) {
      return { status: 403, detail: "A page of another origin may not use this cookie." };
    }
    const { token } = credentials;
    const asked = { method: request.method ?? "", path: credentials.path };
    const grant = authorise({ target: route.target, token, address, request: asked });
    const passed = (found: AccessGrant | Refusal) =>
      isRefusal(found) ? found : admissionOf(request, route, credentials, found, browser);
    return grant instanceof Promise ? grant.then(passed) : passed(grant);
  };
}

function admissionOf(
  request: IncomingMessage,
  route: Route,
  { token = "", source, path, ...rest }: Credentials,
  { client, expires, uid }: AccessGrant,
  browser: BrowserOptions,
): Admission {
  const replaced = Object.entries(rest);
  const pass: Admission = {
    client,
    isAnonymous: source === undefined,
    mayEmbed: source === "query",
    expires,
    uid,
    path,
    withheld: replaced.length === 0 ? NO_HEADERS : new Set(replaced.map(([name]) => name)),
    added: replaced.flatMap(([name, value]) => value === undefined ? [] : [name, value]),
  };
  if (source === "query" && browser.authzCookieName !== undefined && isNavigation(request) && TOKEN.test(token)) {
    const seconds = expires === undefined ? undefined : expires - Date.now() / 1000;
    pass.redirect = { location: sameHost(route.base + path), cookie: cookieOf(token, route, browser, seconds) };
  }
  return pass;
}

/** A route with one target, and the gate's decision about it. */
export interface ChosenTarget {
  route: Route;
  pass: Admission | Refusal;
}

/**
 * Asks the gate about each target that exists, and chooses the only one that the client may reach. It never guesses:
 * otherwise a user could create a Sandbox with a matching name and get the requests for another Sandbox.
 *
 * | targets that the client may reach | result |
 * |---|---|
 * | one | this target |
 * | several | 400 |
 * | none, whether one exists or not | the gate's refusal for the first target; 404 if the gate admits it |
 *
 * @param exists tells whether a Sandbox exists and may be reached by name
 */
export async function chooseTarget(
  { candidates = [], ...route }: Route,
  exists: (target: Target) => boolean,
  gate: Gate,
  request: IncomingMessage,
  address: string,
): Promise<ChosenTarget> {
  const ask = async (target: Target): Promise<ChosenTarget> => {
    const asked = { ...route, target };
    return { route: asked, pass: await gate(request, asked, address) };
  };
  const open: ChosenTarget[] = [];
  for (const target of candidates.filter(exists)) {
    const chosen = await ask(target);
    if (!isRefusal(chosen.pass)) open.push(chosen);
  }
  const [chosen, second] = open;
  if (chosen && !second) return chosen;
  if (second) {
    return { route, pass: badRequest("The host name fits several sandboxes: name the one by path or header.") };
  }
  const { pass } = await ask(route.target);
  return {
    route,
    pass: isRefusal(pass) ? pass : { status: 404, detail: "Cannot find a sandbox that the host name fits." },
  };
}
