/** Decides whether the router forwards a request to a sandbox, and with which headers and path. @module */
import type { IncomingMessage } from "node:http";
import { badRequest, type Route, type Target } from "../destination.ts";
import { sameHost } from "../proxy/answerheaders.ts";
import { isRefusal, type Refusal, undecided } from "../refusal.ts";
import { isNavigation } from "../wake/page.ts";
import { type BrowserOptions, cookieOf, type Credentials, credentialsOf } from "./credentials.ts";
import { isCrossOrigin } from "./crossorigin.ts";
import type { PortForwardCheck, PortForwardVerdict } from "./portforward.ts";

/** A client that wants to reach a sandbox. */
export interface AccessRequest {
  target: Target;
  /** The token from the header, the query or the cookie; undefined: the request has none. */
  token: string | undefined;
  /** Address of the client. */
  address: string;
  /** Needed for tokens that allow only one method or path. */
  request?: { method: string; path: string };
}

/** The decision that a client may connect. */
export interface AccessGrant {
  /** Name of the client for limits and logs: a user, the sandbox of a token, or an address. */
  client: string;
  /** When the grant expires, in seconds since 1970; undefined: not known. */
  expires?: number | undefined;
  /** UID of the only Sandbox that the client may reach; absent: any Sandbox of that name. */
  uid?: string;
}

/** Checks the token, and whether its owner may reach the sandbox. */
export type Authorise = (request: AccessRequest) => AccessGrant | Refusal | Promise<AccessGrant | Refusal>;

/** How the router forwards an admitted request. */
export interface Admission {
  /** As in {@link AccessGrant}. */
  client: string;
  /** Whether the client has no token that the gate has checked. */
  isAnonymous: boolean;
  /** Whether pages of other origins may embed the response. They may if its URL contains the token. */
  mayEmbed: boolean;
  /** When the client's token expires, in seconds since 1970; undefined: not known, or the client has no token. */
  expires: number | undefined;
  /** Path and query for the sandbox, without credentials. */
  path: string;
  /** UID of the only Sandbox that the client may reach; undefined: any Sandbox of that name. */
  uid: string | undefined;
  /** Names of the headers that are not forwarded, in lower case. */
  withheld: ReadonlySet<string>;
  /** Headers that are sent instead: names and values in turn. */
  added: string[];
  /** Headers for the client, in addition to the sandbox's; absent: none. */
  addedToResponse?: string[];
  /** Redirect of a browser whose URL contains a token: sets a cookie with the token, and removes it from the URL. */
  redirect?: { location: string; cookie: string };
}

/** Decides about a request from a client at `address`. Returns a promise only if it must ask the API server. */
export type Gate = (
  request: IncomingMessage,
  route: Route,
  address: string,
) => Admission | Refusal | Promise<Admission | Refusal>;

const NO_HEADERS: ReadonlySet<string> = new Set();
/** The characters of scoped tokens and Kubernetes tokens. A cookie can contain all of them without quotes. */
const COOKIE_SAFE = /^[A-Za-z0-9._~+/=-]+$/;

/**
 * If URLs may contain tokens, service workers are refused: they could read the URLs of later navigations. The browser
 * marks the request for a service worker with the header `Service-Worker`, which a page cannot remove.
 */
const NO_SERVICE_WORKERS: Refusal = {
  status: 403,
  detail: "Service workers are not allowed, because URLs of this router may contain tokens.",
};

/** The gate of `--authz-mode allow-all`: admits every request. */
export function allowAllGate(_: IncomingMessage, { path }: Route, address: string): Admission {
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

/**
 * Creates the gate of all other modes, which checks tokens and cookies.
 *
 * @param checkPortForward decides about requests without a token; undefined: those through `kubectl port-forward` need one
 */
export function createGate(authorise: Authorise, browser: BrowserOptions, checkPortForward?: PortForwardCheck): Gate {
  return (request, route, address) => {
    if (browser.authzCookieQueryParam !== undefined && request.headers["service-worker"] === "script") {
      return NO_SERVICE_WORKERS;
    }
    const credentials = credentialsOf(request, route, browser);
    if (credentials.source === "cookie" && isCrossOrigin(request, browser)) {
      return { status: 403, detail: "A page of another origin may not use this cookie." };
    }
    const { token } = credentials;
    const methodAndPath = { method: request.method ?? "", path: credentials.path };
    const admit = (decision: AccessGrant | Refusal) =>
      isRefusal(decision) ? decision : admissionOf(request, route, credentials, decision, browser);
    const decide = (verdict?: PortForwardVerdict) => {
      if (verdict?.isTrusted) return admit({ client: "port-forward" });
      const grant = authorise({ target: route.target, token, address, request: methodAndPath });
      const finish = (decision: AccessGrant | Refusal) => admit(verdict ? explained(decision, verdict) : decision);
      return grant instanceof Promise ? grant.then(finish) : finish(grant);
    };
    // A header that the router cannot read may contain a token, too.
    const hasNoToken = token === undefined && request.headers.authorization === undefined;
    const verdict = hasNoToken ? checkPortForward?.(request, route.via) : undefined;
    return verdict instanceof Promise ? verdict.then(decide) : decide(verdict);
  };
}

/** Adds to a refusal why a token was needed although the request came from a loopback address. */
function explained(
  decision: AccessGrant | Refusal,
  { reason, names, isTemporary }: PortForwardVerdict & { isTrusted: false },
): AccessGrant | Refusal {
  if (!isRefusal(decision)) return decision;
  if (isTemporary) return undecided(reason);
  const why = `A connection through kubectl port-forward was not enough: ${reason}.`;
  const more = names === undefined ? undefined : "The router's log and hookbox doctor say more.";
  return { ...decision, remedy: [decision.remedy, why, more].filter((part) => part !== undefined).join(" ") };
}

function admissionOf(
  request: IncomingMessage,
  route: Route,
  { token = "", source, path, ...rest }: Credentials,
  { client, expires, uid }: AccessGrant,
  browser: BrowserOptions,
): Admission {
  const replaced = Object.entries(rest);
  const admission: Admission = {
    client,
    isAnonymous: source === undefined,
    mayEmbed: source === "query",
    expires,
    uid,
    path,
    withheld: replaced.length === 0 ? NO_HEADERS : new Set(replaced.map(([name]) => name)),
    added: replaced.flatMap(([name, value]) => value === undefined ? [] : [name, value]),
  };
  if (source === "query" && browser.authzCookieName !== undefined && isNavigation(request) && COOKIE_SAFE.test(token)) {
    const seconds = expires === undefined ? undefined : expires - Date.now() / 1000;
    admission.redirect = { location: sameHost(route.base + path), cookie: cookieOf(token, route, browser, seconds) };
  }
  return admission;
}

/** A route with one target, and the gate's decision about it. */
export interface ChosenTarget {
  route: Route;
  decision: Admission | Refusal;
}

/**
 * Chooses a target if a host name can mean several Sandboxes. Asks the gate about each target that exists, and chooses
 * the only one that the client may reach. Never guesses: otherwise, a user could create a Sandbox with a similar name,
 * and get requests for another Sandbox.
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
  const askGate = async (target: Target): Promise<ChosenTarget> => {
    const candidate = { ...route, target };
    return { route: candidate, decision: await gate(request, candidate, address) };
  };
  const admitted: ChosenTarget[] = [];
  for (const target of candidates.filter(exists)) {
    const chosen = await askGate(target);
    if (!isRefusal(chosen.decision)) admitted.push(chosen);
  }
  const [chosen, second] = admitted;
  if (chosen && !second) return chosen;
  if (second) {
    return { route, decision: badRequest("The host name matches several sandboxes: select one by path or header.") };
  }
  const { decision } = await askGate(route.target);
  return {
    route,
    decision: isRefusal(decision)
      ? decision
      : { status: 404, detail: "Cannot find a sandbox that matches the host name." },
  };
}
