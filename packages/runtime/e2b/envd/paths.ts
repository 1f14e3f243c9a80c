/** Interprets paths as E2B's clients mean them: relative to the home directory of the user. @module */
import { access, constants, stat } from "node:fs/promises";
import { join, normalize } from "node:path";
import type { Root } from "../../confine.ts";
import { homeDirectory } from "../../confine.ts";
import { Refused } from "../../files/refused.ts";
import { wirePath } from "../../http/httppath.ts";

/**
 * Returns the folder in which commands run, and from which relative paths start: the home directory. If there is none, or
 * the user may not enter it, the working directory. For a confined root, the root.
 */
export async function homeOf({ isConfined, workdir }: Pick<Root, "isConfined" | "workdir">): Promise<string> {
  if (isConfined) return workdir;
  const home = homeDirectory();
  if (home === "/") return workdir;
  const isFolder = await stat(home).then((found) => found.isDirectory(), () => false);
  return isFolder && await access(home, constants.X_OK).then(() => true, () => false) ? home : workdir;
}

/**
 * Returns the absolute path that a client means. An absolute path in a confined root is in the root.
 *
 * @param path empty: the home directory
 * @throws {Refused} INVALID_ARGUMENT for the home directory of another user
 */
export async function absolutePath(root: Root, path: string): Promise<string> {
  if (path.startsWith("~") && path !== "~" && !path.startsWith("~/")) {
    throw new Refused("INVALID_ARGUMENT", `Cannot use "${path}": only ~ and ~/ are expanded`);
  }
  if (path.startsWith("/")) {
    const inRoot = await wirePath(root, path);
    return inRoot.startsWith("/") ? inRoot : `${root.path}/${inRoot}`;
  }
  // Not join(): the kernel decides what ".." means after a symlink.
  return `${await homeOf(root)}/${path.replace(/^~\/?/, "")}`;
}

/** Returns an absolute path as clients see it: without "..", double slashes and a slash at the end. */
export function shownPath(path: string): string {
  return join("/", normalize(path).replace(/\/+$/, ""));
}
