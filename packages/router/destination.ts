/** Finds the sandbox and the port that a request is for, from its headers, host or path. Pure. @module */
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { isDNSLabel } from "../api/objects/names.ts";
import { WAKE_HEADER } from "../api/router/protocol.ts";
import { canonicalIP, isPodAddress } from "./index/addresses.ts";
import { isRefusal, type Refusal } from "./refusal.ts";

/** The sandbox and port that a request names. If `uid` or `podIP` is set, the sandbox must have them. */
export interface Target {
  namespace: string;
  name: string;
  port: number;
  uid?: string;
  /** An IP address from the client, in canonical form. */
  podIP?: string;
  /** Absent: the request wakes a suspended sandbox; false: it does not. */
  wakes?: false;
  /**
   * Absent: the request waits until the Pod has the claim's labels; true: it delivers the claim's variables, before the
   * claim is Ready.
   */
  isDelivery?: true;
}

const DEFAULT_NAMESPACE = "default";
const DEFAULT_PORT = 8888;

const PORT = /^[0-9]{1,5}$/;

/**
 * Checks name, namespace and port of a sandbox; an empty text counts as absent.
 *
 * Source: Agent Sandbox API, section 7.1, also of the error texts.
 */
function checkedTarget(namespace: string, name: string, port: string): Target | Refusal {
  if (!isDNSLabel(name)) return badRequest("Invalid sandbox ID format.");
  if (namespace !== "" && !isDNSLabel(namespace)) return badRequest("Invalid namespace format.");
  const number = port === "" ? DEFAULT_PORT : PORT.test(port) ? Number(port) : 0;
  if (number < 1 || number > 65535) return badRequest("Invalid port format.");
  return { namespace: namespace || DEFAULT_NAMESPACE, name, port: number };
}

/** Refuses a request that the router cannot understand. */
export function badRequest(detail: string): Refusal {
  return { status: 400, detail };
}

const ABSOLUTE = /^https?:\/\/[^/?#]*/i;

/**
 * Returns path and query byte for byte. Proxies must also accept absolute URLs: their scheme and host are removed.
 *
 * @returns undefined: `url` is neither a path nor an absolute URL
 */
function originForm(url: string): string | undefined {
  if (url.startsWith("/") || url === "*") return url;
  if (!ABSOLUTE.test(url)) return undefined;
  const rest = url.replace(ABSOLUTE, "");
  return rest.startsWith("/") ? rest : `/${rest}`;
}

const UID = /^[0-9A-Za-z-]{1,128}$/;

/**
 * Reads the headers X-Sandbox-ID, -Namespace, -Port, -UID and -Pod-IP, and hookbox's own -Wake.
 * Source: Agent Sandbox API, section 7.1, also of the error texts.
 *
 * @param headers as node:http joins them: a header that occurs twice becomes one text, which is refused as invalid
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
 * Reads a host name `<port>-<sandbox ID>-<namespace>.<domain>`. There can be several ways to read it, as sandbox IDs
 * and namespaces may contain dashes.
 *
 * @param host as in the Host header, with or without a port
 * @param domain in lower case
 * @returns all possible targets, `[]` if there is none; undefined: the host is not under the domain
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

/** A target, the path for the sandbox, and the part of the path before it, which only the router uses. */
interface PathRoute {
  target: Target;
  path: string;
  base: string;
}

const SEGMENTS = /^\/([^/]*)\/([^/]*)\/([^/?]*)(.*)$/s;

/**
 * Reads a path `<prefix>/<namespace>/<sandbox ID>/<port>/<rest>`. The sandbox gets the rest byte for byte. Nothing is
 * decoded, so that an encoded path cannot avoid the checks.
 *
 * @param prefix begins with a slash and does not end with one
 * @returns undefined: the path is not under the prefix
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

/** Tells whether a text can be used as a path prefix. */
export function isPathPrefix(prefix: string): boolean {
  return /^(\/[A-Za-z0-9._~-]+)+$/.test(prefix);
}

/** The target of a request, and how the request names it. */
export interface Route {
  target: Target;
  /** All targets that the host name can mean, if there are several; `target` is the first. */
  candidates?: Target[];
  /** Path and query for the sandbox. */
  path: string;
  /** The part of the path that only the router uses; empty unless the path names the sandbox. */
  base: string;
  via: "headers" | "path" | "host";
}

/** Ways in which a request may name its sandbox, in addition to headers; undefined: this way is off. */
export interface RouteOptions {
  allowLoopbackPodIp: boolean;
  pathRoutingPrefix: string | undefined;
  domain: string | undefined;
}

/**
 * Finds the route of a request. If the host is under the domain, or the path under the prefix, other ways are not
 * tried.
 *
 * | host under `domain` | path under `pathRoutingPrefix` | the sandbox is named by |
 * |---|---|---|
 * | yes | any | host |
 * | no | yes | path |
 * | no | no | headers |
 */
export function routeOf(request: IncomingMessage, options: RouteOptions): Route | Refusal {
  const path = originForm(request.url ?? "");
  if (path === undefined) return badRequest("Invalid request path.");
  // A proxy in front may have routed by another Host header than this one. Source: RFC 9112 section 3.2.
  if (isHostAmbiguous(request)) return badRequest("There is more than one Host header.");
  if (options.domain !== undefined) {
    const targets = targetsFromHost(hostOf(request), options.domain);
    if (targets) {
      const [target, ...others] = targets;
      if (!target) return badRequest("The host name is not <port>-<sandbox ID>-<namespace>.<domain>");
      return { target, path, base: "", via: "host", ...(others.length > 0 ? { candidates: targets } : {}) };
    }
  }
  if (options.pathRoutingPrefix !== undefined) {
    const route = targetFromPath(path, options.pathRoutingPrefix);
    if (route) return isRefusal(route) ? route : { ...route, via: "path" };
  }
  const target = targetFromHeaders(request.headers, options.allowLoopbackPodIp);
  return isRefusal(target) ? target : { target, path, base: "", via: "headers" };
}

/** Returns the host that the client asked for: the Host header, or :authority in HTTP/2. */
export function hostOf({ headers }: IncomingMessage): string {
  const authority = headers[":authority"];
  return typeof authority === "string" ? authority : headers.host ?? "";
}

/** Tells whether a request has several Host headers. */
export function isHostAmbiguous({ rawHeaders }: IncomingMessage): boolean {
  let hosts = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) if (/^host$/i.test(rawHeaders[i] as string)) hosts++;
  return hosts > 1;
}
