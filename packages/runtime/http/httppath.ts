/** The path of a request as it was sent: URL parsers drop `%2E%2E`, and so hide what is to be refused. @module */
import type { Context } from "hono";
import { sep } from "node:path";
import type { IncomingMessage } from "node:http";
import { decodeName } from "../../process/filenames.ts";
import type { Root } from "../confine.ts";
import { Refused } from "../files/refused.ts";

/** What the listener hands to an app; absent where an app is called without a socket. */
export interface HTTPEnv {
  Bindings: { incoming?: IncomingMessage };
}

const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i;

/** Gives Hono the raw path to route by. Use it as `getPath`. */
export function rawPath(request: Request, options?: { env?: HTTPEnv["Bindings"] }): string {
  const target = (options?.env?.incoming?.url ?? request.url).replace(ORIGIN, "");
  return /^[^?#]*/.exec(target)?.[0] || "/";
}

/**
 * Returns the part of the request's path after `prefix`, percent-decoded once. Bytes that are not UTF-8 are escaped as in
 * `packages/process/filenames.ts`.
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
 * Reads a path of the wire, where a leading slash may mean two things: `/workspace/a` is that very file if the root is
 * `/workspace`, unless the root has a folder of its own at `workspace`. What is absolute and elsewhere is
 *
 * | `elsewhere` | taken as |
 * |---|---|
 * | `relative` | relative to the root |
 * | `refuse` | what it is: `locate` refuses it |
 * | `known` | relative to the root if something is there, else refused |
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
    return await isThere(root, root.path.slice(1)) ? relative : path;
  }
  return elsewhere === "relative" || (elsewhere === "known" && await isThere(root, relative)) ? relative : path;
}

async function isThere(root: Root, path: string): Promise<boolean> {
  return await root.locate(path).then(() => true, () => false);
}
