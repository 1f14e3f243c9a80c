/** Tells whether a request comes from a page of another origin, and what such a request may do. Pure. @module */
import type { IncomingMessage } from "node:http";
import { hostOf, type Route, type RouteOptions, type Target, targetsFromHost } from "../destination.ts";
import type { Refusal } from "../refusal.ts";
import { type BrowserOptions, credentialsOf } from "./credentials.ts";

/**
 * Tells whether a request may come from a page of another origin in a browser. Sandboxes under one domain are the same
 * site, but their pages are foreign to each other.
 *
 * | headers | foreign |
 * |---|---|
 * | `Origin` of the same host, or an allowed one | no |
 * | another `Origin`, including `null` | yes |
 * | no `Origin`, `Sec-Fetch-Site: same-origin` or `none` | no |
 * | no `Origin`, `Sec-Fetch-Site: same-site` or `cross-site` | yes, unless a person opens the address, or `Referer` is allowed |
 * | neither of them, `Referer` of another host | like the row above: browsers send no `Sec-Fetch-Site` over plain HTTP |
 * | none of these | no: a program sends the request |
 */
export function isCrossOrigin(
  request: IncomingMessage,
  { authzCookieAllowedOrigins }: Pick<BrowserOptions, "authzCookieAllowedOrigins">,
): boolean {
  const { origin, referer, "sec-fetch-site": site } = request.headers;
  if (origin !== undefined) {
    return !authzCookieAllowedOrigins.includes(origin) && hostOfOrigin(origin) !== hostOf(request);
  }
  if (site === "same-origin" || site === "none") return false;
  const [from] = /^https?:\/\/[^/?#]*/.exec(referer ?? "") ?? [];
  if (from !== undefined && authzCookieAllowedOrigins.includes(from)) return false;
  if (site === undefined && (from === undefined || hostOfOrigin(from) === hostOf(request))) return false;
  return !isNavigationByPerson(request);
}

/** Tells whether a person opens the address in a window or tab: not in a frame, and not as a prefetch. */
function isNavigationByPerson({ method, headers }: IncomingMessage): boolean {
  const { "sec-fetch-mode": mode, "sec-fetch-dest": dest, "sec-purpose": purpose, purpose: older } = headers;
  if (method !== "GET" || purpose !== undefined || older !== undefined) return false;
  if (mode === undefined && headers["sec-fetch-site"] === undefined) {
    return headers.accept?.includes("text/html") === true;
  }
  return mode === "navigate" && (dest === undefined || dest === "document");
}

function hostOfOrigin(origin: string): string | undefined {
  return /^https?:\/\/([^/?#@]+)$/.exec(origin)?.[1];
}

const NO_TOKEN: Refusal = { status: 403, detail: "A page of another origin may not ask for this without a token." };

/**
 * Decides about a request without a token, if it comes from a page of another origin. The browser sends it from inside the
 * network, where the page's own server may have no access.
 *
 * @returns a refusal; "no wake": the request does not wake the sandbox, and a running sandbox
 * decides by the Origin header; undefined: no such page sent the request, or a page on another port of the sandbox did
 */
export function decideCrossOrigin(
  request: IncomingMessage,
  { namespace, name }: Target,
  browser: BrowserOptions,
  { domain }: RouteOptions,
): Refusal | "no wake" | undefined {
  if (!isCrossOrigin(request, browser)) return undefined;
  const { origin } = request.headers;
  if (origin === undefined) return NO_TOKEN;
  const own = domain === undefined ? undefined : targetsFromHost(hostOfOrigin(origin) ?? "", domain);
  return own?.some((page) => page.namespace === namespace && page.name === name) ? undefined : "no wake";
}

/**
 * Returns the Origin header for the sandbox as a flat list; `[]`: the sandbox gets no Origin.
 *
 * | request of | sandbox gets Origin |
 * |---|---|
 * | the sandbox's own page, or a page of an allowed origin | no |
 * | a program, or a page of another origin, with a token that was checked | no |
 * | a page of another origin without a token of its own | yes |
 *
 * A runtime refuses requests with the Origin of another host. Otherwise any website could use the access of a user
 * whose router admits everybody.
 *
 * @param isOpen true: tokens are not checked, so only a header that no page can send shows that a program asks
 */
export function originForSandbox(
  request: IncomingMessage,
  route: Route,
  browser: BrowserOptions,
  isOpen: boolean,
): string[] {
  if (!isCrossOrigin(request, browser)) return [];
  const { source } = credentialsOf(request, route, browser);
  if (source === "header" || (source === "query" && !isOpen)) return [];
  return ["Origin", request.headers.origin ?? "null"];
}
