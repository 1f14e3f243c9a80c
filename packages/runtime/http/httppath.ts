/** Reads the path of a request as it was sent, because URL parsers remove `%2E%2E`, which must be refused. @module */
import type { Context } from "hono";
import { sep } from "node:path";
import type { IncomingMessage } from "node:http";
import { decodeName } from "../../process/filenames.ts";
import type { Root } from "../confine.ts";
import { Refused } from "../files/refused.ts";

/** What the listener passes to an app. Absent if an app is called without a socket. */
export interface HTTPEnv {
  Bindings: { incoming?: IncomingMessage };
}

const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i;

/** Returns the raw path, by which Hono finds the route. For Hono's option `getPath`. */
export function rawPath(request: Request, options?: { env?: HTTPEnv["Bindings"] }): string {
  const target = (options?.env?.incoming?.url ?? request.url).replace(ORIGIN, "");
  return /^[^?#]*/.exec(target)?.[0] || "/";
}

/**
 * Returns the part of the request's path after `prefix`, percent-decoded once. Bytes that are not UTF-8 are escaped as
 * in `packages/process/filenames.ts`.
 *
 * @throws {Refused} INVALID_ARGUMENT if it cannot be decoded
 */
export function pathAfter(c: Context, prefix: string): string {
  try {
    return decodeName(c.req.path.slice(prefix.length));
  } catch {
    throw new Refused("INVALID_ARGUMENT", "Cannot use the path: its percent-encoding is invalid");
  }
}

/**
 * Interprets the path of a request. If the root is `/workspace`, `/workspace/a` is that file, unless the root contains
 * a folder `workspace`. An absolute path outside of the root is handled as follows:
 *
 * | `elsewhere` | meaning |
 * |---|---|
 * | `relative` | it is relative to the root |
 * | `refuse` | it stays absolute, so `locate` refuses it |
 * | `known` | it is relative to the root if something exists there; otherwise it is refused |
 */
export async function wirePath(
  root: Root,
  path: string,
  elsewhere: "relative" | "refuse" | "known",
): Promise<string> {
  if (!path.startsWith("/")) return path;
  const relative = path.replace(/^\/+/, "");
  if (relative === "") return ".";
  if (path === root.path || path.startsWith(root.path + sep)) {
    return await existsInRoot(root, root.path.slice(1)) ? relative : path;
  }
  return elsewhere === "relative" || (elsewhere === "known" && await existsInRoot(root, relative)) ? relative : path;
}

async function existsInRoot(root: Root, path: string): Promise<boolean> {
  return await root.locate(path).then(() => true, () => false);
}
