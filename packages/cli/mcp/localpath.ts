/** Confines the paths on this machine that a session may use to one folder, also through symlinks. @module */
import { lstat, realpath } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { AuthorizationError, InvalidArgumentError } from "../../sdk/errors.ts";

/** Returns the real path of an existing file. @throws {AuthorizationError} if it is outside of the folder */
export async function existingPath(root: string, path: string): Promise<string> {
  const base = await realpath(root);
  const wanted = resolve(base, path);
  const found = await realpath(wanted).catch(() => undefined);
  // The message must not reveal whether a path outside of the folder exists.
  if (found !== undefined && isWithin(base, found)) return found;
  if (!isWithin(base, wanted) || found !== undefined) throw outside(path, root);
  throw new InvalidArgumentError(`Cannot find "${path}" on this machine: it does not exist`);
}

/**
 * Returns the real path of a file to write; its parent folder exists.
 *
 * @throws {AuthorizationError} if it is outside of the folder, or is a symlink
 */
export async function writablePath(root: string, path: string): Promise<string> {
  const base = await realpath(root);
  const wanted = resolve(base, path);
  if (!isWithin(base, wanted) || wanted === base) throw outside(path, root);
  const folder = await realpath(dirname(wanted)).catch(() => undefined);
  if (folder === undefined) {
    throw new InvalidArgumentError(`Cannot write "${path}" on this machine: the folder above it does not exist`);
  }
  const place = join(folder, basename(wanted));
  if (!isWithin(base, place)) throw outside(path, root);
  const there = await lstat(place).catch(() => undefined);
  if (there?.isSymbolicLink()) {
    throw new AuthorizationError(`Cannot write "${path}" on this machine: a symlink is there`);
  }
  return place;
}

function isWithin(root: string, path: string): boolean {
  const way = relative(root, path);
  return way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

function outside(path: string, root: string): AuthorizationError {
  return new AuthorizationError(`Cannot use "${path}" of this machine: it is outside of ${root}`, {
    remedy: "Only what is below that folder may be copied.",
  });
}
