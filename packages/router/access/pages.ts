/** Whether a page of somebody else has a browser send a request, and what it may have it do. Pure. @module */
import type { IncomingMessage } from "node:http";
import { hostOf, type RouteOptions, type Target, targetsFromHost } from "../destination.ts";
import type { Refusal } from "../refusal.ts";
import type { BrowserOptions } from "./credentials.ts";

/**
 * Tells whether a request that a browser sends may come from a page of another origin. Sandboxes of one domain are of
 * the same site, and strangers all the same.
 *
 * | the browser says | foreign |
 * |---|---|
 * | `Origin` of the same host, or an allowed one | no |
 * | another `Origin`, `null` among them | yes |
 * | no `Origin`, `Sec-Fetch-Site: same-origin` or `none` | no |
 * | no `Origin`, `Sec-Fetch-Site: same-site` or `cross-site` | yes, unless a person goes there, or `Referer` is allowed |
 * | neither, `Referer` of another host | the same: browsers send no `Sec-Fetch-Site` to plain HTTP |
 * | none of these | no: it is a program |
 */
export function isForeign(request: IncomingMessage, { allowedOrigins }: BrowserOptions): boolean {
  const { origin, referer, "sec-fetch-site": site } = request.headers;
  if (origin !== undefined) return !allowedOrigins.includes(origin) && hostOfOrigin(origin) !== hostOf(request);
  if (site === "same-origin" || site === "none") return false;
  const [from] = /^https?:\/\/[^/?#]*/.exec(referer ?? "") ?? [];
  if (from !== undefined && allowedOrigins.includes(from)) return false;
  if (site === undefined && (from === undefined || hostOfOrigin(from) === hostOf(request))) return false;
  return !isVisit(request);
}

/** Tells whether a person goes to the address, so that the whole window shows it: no frame, and nothing fetched ahead. */
function isVisit({ method, headers }: IncomingMessage): boolean {
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

const REFUSED: Refusal = { status: 403, detail: "A page of another origin may not ask for this without a token." };

/**
 * Decides about a request without a token that comes from a page of another origin: the browser sends it from inside the
 * network, whatever the page may.
 *
 * @returns why it is refused; "asleep": it wakes nothing, and the sandbox, which sees its Origin, decides; undefined: it
 * is no such request, or from another port of the same sandbox
 */
export function strangerOf(
  request: IncomingMessage,
  { namespace, name }: Target,
  browser: BrowserOptions,
  { domain }: RouteOptions,
): Refusal | "asleep" | undefined {
  if (!isForeign(request, browser)) return undefined;
  const { origin } = request.headers;
  if (origin === undefined) return REFUSED;
  const own = domain === undefined ? undefined : targetsFromHost(hostOfOrigin(origin) ?? "", domain);
  return own?.some((page) => page.namespace === namespace && page.name === name) ? undefined : "asleep";
}
