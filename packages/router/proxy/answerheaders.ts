/**
 * Makes the headers of a sandbox's answer for the client: changes addresses and cookies so that they work there. Pure.
 * @module
 */
import type { IncomingMessage } from "node:http";
import type { Route } from "../destination.ts";
import { headersForClient } from "./headers.ts";

/** How the headers of an answer are changed. */
export interface AnswerRules extends ClientView {
  /** The router's own cookie, which no sandbox can set. */
  cookieName: string | undefined;
  /** False: addresses and cookies pass unchanged. */
  rewrites: boolean;
  /** Which pages may embed the answer, if the sandbox does not say. */
  resourcePolicy: "same-origin" | "cross-origin";
}

const POLICY = "cross-origin-resource-policy";
const NOSNIFF = "x-content-type-options";
/** With these headers, answers of different sandboxes share one URL, so caches must tell them apart. */
const NAMES = "X-Sandbox-ID, X-Sandbox-Namespace, X-Sandbox-Port";

/**
 * Returns the headers as a flat list: the sandbox's headers with addresses changed for the client, headers that prevent
 * pages of other origins from reading the answer as a script or image, and Vary, so that caches do not use it for
 * another sandbox.
 *
 * @param podIP address at which the sandbox was reached
 */
export function answerHeaders(
  { rawHeaders, headers }: Pick<IncomingMessage, "rawHeaders" | "headers">,
  podIP: string,
  rules: AnswerRules,
): string[] {
  const passed = headersForClient(rawHeaders, headers.connection, rules.cookieName);
  const result: string[] = [];
  for (let i = 0; i + 1 < passed.length; i += 2) {
    const name = passed[i] as string;
    if (name.toLowerCase() === NOSNIFF) continue;
    result.push(
      name,
      rules.rewrites ? rewritten(name, passed[i + 1] as string, podIP, rules) : passed[i + 1] as string,
    );
  }
  result.push("X-Content-Type-Options", "nosniff");
  if (rules.via === "headers") result.push("Vary", NAMES);
  if (headers[POLICY] === undefined) result.push("Cross-Origin-Resource-Policy", rules.resourcePolicy);
  return result;
}

function rewritten(name: string, value: string, podIP: string, rules: AnswerRules): string {
  switch (name.toLowerCase()) {
    case "location":
    case "content-location":
      return locationFor(value, podIP, rules);
    case "refresh":
      return refreshFor(value, podIP, rules);
    case "set-cookie":
      return rules.via === "headers" ? value : cookieFor(value, rules);
    default:
      return value;
  }
}

/** How the client named the sandbox, and what it asked for. */
export interface ClientView {
  via: Route["via"];
  /** The part of the path that only the router uses; empty unless the path names the sandbox. */
  base: string;
  /** Path and query that the sandbox got. */
  path: string;
  port: number;
  /** The host that the client asked for, from Host or :authority; empty if there is none. */
  clientHost: string;
}

const ABSOLUTE = /^(https?:)?[/\\]{2}([^/\\?#]*)/i;
/** Hosts that mean the sandbox itself if an app writes its own address. */
const SELF = new Set(["localhost", "127.0.0.1", "[::1]", "0.0.0.0", "[::]"]);

/**
 * Returns a Location (or Content-Location) for the client.
 *
 * | value from the sandbox | value for the client |
 * |---|---|
 * | an address of its Pod with this port | the same path, below the base |
 * | `localhost` and this port, or the host that the client asked for | the same path, below the base |
 * | an address of its Pod with another port | this port, if the client names ports by path or host; else unchanged |
 * | an absolute path | the path below the base, unless it is below it already |
 * | a relative path, or another host | unchanged |
 *
 * @param podIP address at which the sandbox was reached
 */
export function locationFor(value: string, podIP: string, view: ClientView): string {
  const { base } = view;
  const [start = "", scheme, authority = ""] = ABSOLUTE.exec(value) ?? [];
  if (start === "") return base !== "" && value.startsWith("/") ? below(base, value) : value;
  const port = portOf(authority, scheme, podIP, view);
  if (port === undefined) return value;
  const rest = value.slice(start.length);
  const path = rest.startsWith("/") ? rest : `/${rest}`;
  if (port === view.port) return base === "" ? sameHost(path) : below(base, path);
  if (view.via === "path") return `${base.slice(0, base.lastIndexOf("/"))}/${port}${path}`;
  if (view.via === "host") return `//${port}${view.clientHost.slice(String(view.port).length)}${path}`;
  return value;
}

/** Returns the port of the sandbox that an authority names; undefined: it names another server. */
function portOf(
  authority: string,
  scheme: string | undefined,
  podIP: string,
  { port, clientHost }: ClientView,
): number | undefined {
  if (authority.toLowerCase() === clientHost.toLowerCase()) return port;
  const url = URL.parse(`${scheme ?? "http:"}//${authority}`);
  if (!url || url.username !== "" || url.password !== "") return undefined;
  const named = Number(url.port || (url.protocol === "https:" ? 443 : 80));
  if (url.hostname === (podIP.includes(":") ? `[${podIP}]` : podIP)) return named;
  return SELF.has(url.hostname) && named === port ? port : undefined;
}

/** Adds the base to a path. Some apps use X-Forwarded-Prefix and have added it themselves. */
function below(base: string, path: string): string {
  const next = path.startsWith(base) ? path[base.length] : "";
  return next === undefined || next === "/" || next === "?" || next === "#" ? path : base + path;
}

/**
 * Returns a path that browsers resolve on the same host: a path that begins with two slashes would name another host.
 */
export function sameHost(path: string): string {
  return /^\/[/\\]/.test(path) ? `/.${path}` : path;
}

/** Returns a Refresh header for the client: like Location, it contains an address. */
export function refreshFor(value: string, podIP: string, view: ClientView): string {
  const [start = ""] = /^[\d.\s]*[;,]\s*(?:url\s*=\s*)?/i.exec(value) ?? [];
  if (start === "") return value;
  const quoted = value.slice(start.length).trim();
  const [quote = ""] = /^["']/.exec(quoted) ?? [];
  const address = quote === "" ? quoted : quoted.slice(1).split(quote, 1)[0] ?? "";
  return `${start}${quote}${locationFor(address, podIP, view)}${quote}`;
}

/**
 * Returns a Set-Cookie header for the client, limited to this sandbox as far as the header allows: without a domain
 * and, if there is a base, with a path below it. Source: RFC 6265 sections 5.1.4 and 5.2.
 */
export function cookieFor(value: string, { base, path }: ClientView): string {
  const [pair = "", ...attributes] = value.split(";");
  const isOf = (attribute: string, name: string) => attribute.split("=", 1)[0]?.trim().toLowerCase() === name;
  const kept = attributes.filter((attribute) => !isOf(attribute, "domain"));
  if (base === "") return [pair, ...kept].join(";");
  const paths = kept.filter((attribute) => isOf(attribute, "path"));
  const last = paths.at(-1)?.split("=").slice(1).join("=").trim() ?? "";
  const own = last.startsWith("/") ? below(base, last) : base + defaultPath(path);
  return [pair, ...kept.filter((attribute) => !isOf(attribute, "path")), ` Path=${own}`].join(";");
}

function defaultPath(path: string): string {
  const [name = ""] = path.split("?", 1);
  return name.slice(0, name.lastIndexOf("/")) || "/";
}
