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
 * Interprets the path of a request on port 8080 and of a watch. An absolute path means exactly that file, unless the root
 * is confined. If a confined root is `/workspace`, `/workspace/a` is that file, unless the root contains a folder
 * `workspace`; any other absolute path is relative to the root.
 */
export async function wirePath(root: Root, path: string): Promise<string> {
  return root.isConfined ? await confinedPath(root, path) ?? path.replace(/^\/+/, "") : path;
}

/**
 * Interprets a path of port 8888, whose published client removes the leading slash of the path of an upload or download,
 * but not of a list.
 *
 * In a confined root, an absolute path is handled as by {@link wirePath}, but outside of the root:
 *
 * | `elsewhere` | meaning |
 * |---|---|
 * | `relative` | it is relative to the root |
 * | `refuse` | it stays absolute, so `locate` refuses it |
 * | `known` | it is relative to the root if something exists there; otherwise it is refused |
 *
 * Otherwise, a relative path also means the file at `/` + path, if nothing exists at the relative path, and that file
 * exists or is in `/tmp`, the working directory or the home directory. If nothing exists at an absolute path, it is relative
 * to the working directory if something exists there, except for an upload (`refuse`).
 */
export async function legacyPath(
  root: Root,
  path: string,
  elsewhere: "relative" | "refuse" | "known",
): Promise<string> {
  const relative = path.replace(/^\/+/, "");
  if (!root.isConfined) {
    if (relative === path) return await lacksSlash(root, path) ? `/${path}` : path;
    // The client may have written it without the slash.
    const isRelative = elsewhere !== "refuse" && !await exists(root, path) && await exists(root, relative);
    return isRelative ? relative : path;
  }
  const inside = await confinedPath(root, path);
  if (inside !== undefined || elsewhere === "refuse") return inside ?? path;
  return elsewhere === "relative" || await exists(root, relative) ? relative : path;
}

/** Undefined: the path is absolute, and not inside of the root. */
async function confinedPath(root: Root, path: string): Promise<string | undefined> {
  if (!path.startsWith("/")) return path;
  const relative = path.replace(/^\/+/, "");
  if (relative === "") return ".";
  if (path !== root.path && !path.startsWith(root.path + sep)) return undefined;
  return await exists(root, root.path.slice(1)) ? relative : path;
}

async function lacksSlash(root: Root, path: string): Promise<boolean> {
  const [first = ""] = path.split("/");
  if (["", ".", "..", "~"].includes(first) || await exists(root, path)) return false;
  if (await exists(root, `/${path}`)) return true;
  const isUsual = ["/tmp", root.workdir, root.home ?? "/tmp"].some((folder) => `/${path}/`.startsWith(`${folder}/`));
  return isUsual && !await exists(root, first);
}

async function exists(root: Root, path: string): Promise<boolean> {
  return await root.locate(path).then(() => true, () => false);
}
