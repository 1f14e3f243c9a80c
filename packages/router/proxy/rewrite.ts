/** Addresses and cookies in a sandbox's answer, as its client has to see them. Pure. @module */
import type { Route } from "../destination.ts";

/** How the client has named the sandbox, and what it was asked for. */
export interface ClientView {
  via: Route["via"];
  /** The part of the path that only the router knows; empty unless the path names the sandbox. */
  base: string;
  /** Path and query that the sandbox was asked for. */
  path: string;
  port: number;
  /** What the client asked for by Host or :authority; empty if it named none. */
  clientHost: string;
}

const ABSOLUTE = /^(https?:)?[/\\]{2}([^/\\?#]*)/i;
/** Names that mean the sandbox itself where an app writes its own address. */
const SELF = new Set(["localhost", "127.0.0.1", "[::1]", "0.0.0.0", "[::]"]);

/**
 * Returns a Location (or Content-Location) for the client.
 *
 * | the sandbox says | the client gets |
 * |---|---|
 * | an address of its Pod, of this port | the same path, below the base |
 * | `localhost` and this port, or the host that the client asked for | the same |
 * | an address of its Pod, of another port | that port, where the client names ports by path or host; else as it is |
 * | an absolute path | that path below the base, unless it is there already |
 * | a relative path, or another host | as it is |
 *
 * @param podIP address that the sandbox was asked at
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

/** Returns the port of the sandbox that an authority names; undefined: it names somebody else. */
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

/** Some apps heed X-Forwarded-Prefix themselves. */
function below(base: string, path: string): string {
  const next = path.startsWith(base) ? path[base.length] : "";
  return next === undefined || next === "/" || next === "?" || next === "#" ? path : base + path;
}

/** Returns a path that browsers keep on the same host: one that begins with two slashes would name another. */
export function sameHost(path: string): string {
  return /^\/[/\\]/.test(path) ? `/.${path}` : path;
}

/** Returns a Refresh header for the client: it names an address, too. */
export function refreshFor(value: string, podIP: string, view: ClientView): string {
  const [start = ""] = /^[\d.\s]*[;,]\s*(?:url\s*=\s*)?/i.exec(value) ?? [];
  if (start === "") return value;
  const quoted = value.slice(start.length).trim();
  const [quote = ""] = /^["']/.exec(quoted) ?? [];
  const address = quote === "" ? quoted : quoted.slice(1).split(quote, 1)[0] ?? "";
  return `${start}${quote}${locationFor(address, podIP, view)}${quote}`;
}

/**
 * Returns a Set-Cookie header for the client: of this sandbox alone as far as the header can say so. Its domain is left
 * out, and below a base its path begins with that. Source: RFC 6265 sections 5.1.4 and 5.2.
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
