/** Which sandbox a request names, in whatever way it does, and what it asks of it. Pure. @module */
import type { IncomingMessage } from "node:http";
import { isRefusal, type Refusal } from "../refusal.ts";
import { targetFromHeaders } from "./headers.ts";
import { targetsFromHost } from "./host.ts";
import { originForm } from "./path.ts";
import { targetFromPath } from "./pathroute.ts";
import { badRequest, type Target } from "./target.ts";

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

/** How a request may name its sandbox beside headers; undefined: not in that way. */
export interface RouteOptions {
  allowLoopback: boolean;
  pathPrefix: string | undefined;
  domain: string | undefined;
}

/**
 * Finds the route. What lies under the domain or the prefix never falls back to another way.
 *
 * | host under `domain` | path under `pathPrefix` | named by |
 * |---|---|---|
 * | yes | any | host |
 * | no | yes | path |
 * | no | no | headers |
 */
export function routeOf(request: IncomingMessage, options: RouteOptions): Route | Refusal {
  const path = originForm(request.url ?? "");
  if (path === undefined) return badRequest("Invalid request path.");
  if (options.domain !== undefined) {
    const targets = targetsFromHost(hostOf(request), options.domain);
    if (targets) {
      if (isHostAmbiguous(request)) return badRequest("There is more than one Host header.");
      const [target, ...others] = targets;
      if (!target) return badRequest("The host name is not <port>-<sandbox ID>-<namespace>.<domain>");
      return { target, path, base: "", via: "host", ...(others.length > 0 ? { readings: targets } : {}) };
    }
  }
  if (options.pathPrefix !== undefined) {
    const route = targetFromPath(path, options.pathPrefix);
    if (route) return isRefusal(route) ? route : { ...route, via: "path" };
  }
  const target = targetFromHeaders(request.headers, options.allowLoopback);
  return isRefusal(target) ? target : { target, path, base: "", via: "headers" };
}

/** Returns what the client takes the router for: its Host, or :authority in HTTP/2. */
export function hostOf({ headers }: IncomingMessage): string {
  const authority = headers[":authority"];
  return typeof authority === "string" ? authority : headers.host ?? "";
}

function isHostAmbiguous({ rawHeaders }: IncomingMessage): boolean {
  return rawHeaders.filter((name, i) => i % 2 === 0 && name.toLowerCase() === "host").length > 1;
}
