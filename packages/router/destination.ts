/** Which port of which sandbox a request is for: by headers, host or path, and the rules for each part. Pure. @module */
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { isDNSLabel } from "../api/objects/names.ts";
import { WAKE_HEADER } from "../api/router/headers.ts";
import { canonicalIP, isPodAddress } from "./podip.ts";
import { isRefusal, type Refusal } from "./refusal.ts";

/** What a request names. `uid` and `podIP` must fit what is known of the sandbox. */
export interface Target {
  namespace: string;
  name: string;
  port: number;
  uid?: string;
  /** An address as the client gave it, in its canonical form. */
  podIP?: string;
  /** The request is not worth waking a suspended sandbox for. */
  wakes?: false;
}

const DEFAULT_NAMESPACE = "default";
const DEFAULT_PORT = 8888;

const PORT = /^[0-9]{1,5}$/;

/**
 * Checks the parts that every way of naming a sandbox has; an empty text counts as absent.
 *
 * Source: Agent Sandbox API, section 7.1, with its texts.
 */
function checkedTarget(namespace: string, name: string, port: string): Target | Refusal {
  if (!isDNSLabel(name)) return badRequest("Invalid sandbox ID format.");
  if (namespace !== "" && !isDNSLabel(namespace)) return badRequest("Invalid namespace format.");
  const number = port === "" ? DEFAULT_PORT : PORT.test(port) ? Number(port) : 0;
  if (number < 1 || number > 65535) return badRequest("Invalid port format.");
  return { namespace: namespace || DEFAULT_NAMESPACE, name, port: number };
}

/** Refuses what cannot be understood. */
export function badRequest(detail: string): Refusal {
  return { status: 400, detail };
}

const ABSOLUTE = /^https?:\/\/[^/?#]*/i;

/**
 * Returns path and query byte for byte as they were sent; of an absolute URL, which a proxy must understand, those alone.
 *
 * @returns undefined for what is no path
 */
function originForm(url: string): string | undefined {
  if (url.startsWith("/") || url === "*") return url;
  if (!ABSOLUTE.test(url)) return undefined;
  const rest = url.replace(ABSOLUTE, "");
  return rest.startsWith("/") ? rest : `/${rest}`;
}

const UID = /^[0-9A-Za-z-]{1,128}$/;

/**
 * Reads X-Sandbox-ID, -Namespace, -Port, -UID and -Pod-IP, and our own -Wake. Source: Agent Sandbox API, section 7.1, with
 * its texts.
 *
 * @param headers as node:http joins them: a header that comes twice fits no format
 */
export function targetFromHeaders(headers: IncomingHttpHeaders, allowLoopbackPodIp: boolean): Target | Refusal {
  const name = textOf(headers["x-sandbox-id"]);
  if (name === "") return badRequest("X-Sandbox-ID header is required.");
  const target = checkedTarget(textOf(headers["x-sandbox-namespace"]), name, textOf(headers["x-sandbox-port"]));
  if (isRefusal(target)) return target;
  const uid = textOf(headers["x-sandbox-uid"]);
  const address = textOf(headers["x-sandbox-pod-ip"]);
  if (uid !== "") {
    if (!UID.test(uid)) return badRequest("Invalid sandbox UID format.");
    target.uid = uid;
  }
  if (address !== "") {
    const podIP = canonicalIP(address);
    if (podIP === undefined || !isPodAddress(podIP, allowLoopbackPodIp)) {
      return badRequest("Invalid target IP address.");
    }
    target.podIP = podIP;
  }
  if (textOf(headers[WAKE_HEADER.toLowerCase()]) === "false") target.wakes = false;
  return target;
}

function textOf(value: string | string[] | undefined): string {
  return typeof value === "string" ? value.trim() : value === undefined ? "" : value.join(", ");
}

const LABEL = /^([0-9]+)-(.+)$/;

/**
 * Reads a host name. Names and namespaces may contain dashes themselves: there can be several ways to read it.
 *
 * @param host as in the Host header, with or without a port
 * @param domain in lower case
 * @returns every way, `[]` if there is none; undefined for a host outside the domain: it names nothing
 */
export function targetsFromHost(host: string, domain: string): Target[] | undefined {
  const name = host.toLowerCase().replace(/:\d*$/, "").replace(/\.$/, "");
  if (!name.endsWith(`.${domain}`)) return undefined;
  const [, port = "", rest = ""] = LABEL.exec(name.slice(0, -domain.length - 1)) ?? [];
  const dashes = [...rest].flatMap((character, i) => character === "-" ? [i] : []);
  return dashes.flatMap((i) => {
    const [id, namespace] = [rest.slice(0, i), rest.slice(i + 1)];
    const target = isDNSLabel(id) && isDNSLabel(namespace) ? checkedTarget(namespace, id, port) : undefined;
    return target && !isRefusal(target) ? [target] : [];
  });
}

/** A target, what is asked of it, and the part of the path that only the router knows. */
interface PathRoute {
  target: Target;
  path: string;
  base: string;
}

const SEGMENTS = /^\/([^/]*)\/([^/]*)\/([^/?]*)(.*)$/s;

/**
 * Reads a path. The rest goes to the sandbox byte for byte; nothing is decoded, so that nothing can be hidden.
 *
 * @param prefix begins with a slash and does not end with one
 * @returns undefined for a path that is not under the prefix: it names nothing
 */
function targetFromPath(path: string, prefix: string): PathRoute | Refusal | undefined {
  if (!path.startsWith(prefix)) return undefined;
  const below = path.slice(prefix.length);
  if (below !== "" && below[0] !== "/" && below[0] !== "?") return undefined;
  const [, namespace = "", name = "", port = "", rest = ""] = SEGMENTS.exec(below) ?? [];
  if (namespace === "" || name === "" || port === "") {
    return badRequest(`The path is not ${prefix}/<namespace>/<sandbox ID>/<port>/…`);
  }
  const target = checkedTarget(namespace, name, port);
  if (isRefusal(target)) return target;
  return { target, path: rest.startsWith("/") ? rest : `/${rest}`, base: `${prefix}/${namespace}/${name}/${port}` };
}

/** Tells whether a prefix can be one. */
export function isPathPrefix(prefix: string): boolean {
  return /^(\/[A-Za-z0-9._~-]+)+$/.test(prefix);
}

/** Where a request goes. */
export interface Route {
  target: Target;
  /** All the ways to read a host name, where there are several; `target` is the first. */
  readings?: Target[];
  /** Path and query for the sandbox. */
  path: string;
  /** The part of the path that only the router knows; empty unless the path names the sandbox. */
  base: string;
  via: "headers" | "path" | "host";
}

/** How a request may name its sandbox, apart from headers; undefined: not in that way. */
export interface RouteOptions {
  allowLoopbackPodIp: boolean;
  pathRoutingPrefix: string | undefined;
  domain: string | undefined;
}

/**
 * Finds the route. What lies under the domain or the prefix never falls back to another way.
 *
 * | host under `domain` | path under `pathRoutingPrefix` | named by |
 * |---|---|---|
 * | yes | any | host |
 * | no | yes | path |
 * | no | no | headers |
 */
export function routeOf(request: IncomingMessage, options: RouteOptions): Route | Refusal {
  const path = originForm(request.url ?? "");
  if (path === undefined) return badRequest("Invalid request path.");
  // Proxies in front may have routed by the other Host. Source: RFC 9112 section 3.2.
  if (isHostAmbiguous(request)) return badRequest("There is more than one Host header.");
  if (options.domain !== undefined) {
    const targets = targetsFromHost(hostOf(request), options.domain);
    if (targets) {
      const [target, ...others] = targets;
      if (!target) return badRequest("The host name is not <port>-<sandbox ID>-<namespace>.<domain>");
      return { target, path, base: "", via: "host", ...(others.length > 0 ? { readings: targets } : {}) };
    }
  }
  if (options.pathRoutingPrefix !== undefined) {
    const route = targetFromPath(path, options.pathRoutingPrefix);
    if (route) return isRefusal(route) ? route : { ...route, via: "path" };
  }
  const target = targetFromHeaders(request.headers, options.allowLoopbackPodIp);
  return isRefusal(target) ? target : { target, path, base: "", via: "headers" };
}

/** Returns what the client takes the router for: its Host, or :authority in HTTP/2. */
export function hostOf({ headers }: IncomingMessage): string {
  const authority = headers[":authority"];
  return typeof authority === "string" ? authority : headers.host ?? "";
}

function isHostAmbiguous({ rawHeaders }: IncomingMessage): boolean {
  let hosts = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) if (/^host$/i.test(rawHeaders[i] as string)) hosts++;
  return hosts > 1;
}
