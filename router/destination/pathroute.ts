/** The sandbox that a request names in its path: `<prefix>/<namespace>/<name>/<port>/<rest>`. Pure. @module */
import { isRefusal, type Refusal } from "../refusal.ts";
import { badRequest, checkedTarget, type Target } from "./target.ts";

/** A target, what is asked of it, and the part of the path that only the router knows. */
export interface PathRoute {
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
export function targetFromPath(path: string, prefix: string): PathRoute | Refusal | undefined {
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
