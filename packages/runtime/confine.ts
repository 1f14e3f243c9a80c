/** Resolves a path inside the root through all symlinks, and refuses paths that lead out. @module */
import { lstat, mkdir, realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import { bytePath, readTarget } from "../process/bytepaths.ts";
import { bytesOfName } from "../process/filenames.ts";

/** The path leads out of the root, or passes through a folder outside of it. */
export class OutsideError extends Error {
  override name = "OutsideError";
}

/** Nothing exists at the path, or a parent of it is not a folder. */
export class MissingError extends Error {
  override name = "MissingError";
}

/** A path that no file can have: it contains a NUL byte or a name that is too long, or its symlinks form a circle. */
export class InvalidPathError extends Error {
  override name = "InvalidPathError";
}

/** How to resolve a path. */
export interface ResolveOptions {
  /** What to do if nothing exists at the path: throw, or return where it would be. @default {"refuse"} */
  missing?: "refuse" | "allow";
  /** Whether to follow a symlink at the last step. @default {true} */
  followLast?: boolean;
}

/** Real location of a path. */
interface Location {
  /** Names from the root to the file, without symlinks; empty for the root itself. */
  parts: string[];
  /** The same as an absolute path. Convert it with `bytePath` for `node:fs`. */
  path: string;
  /** False if nothing exists there. */
  exists: boolean;
}

/** A folder to which all paths are confined. */
export interface Root {
  /** Its real path: absolute and without symlinks. */
  path: string;
  /**
   * Returns the real absolute path of `path`, which is relative to the root, or absolute and inside it.
   *
   * The result is valid only at this moment. To open or change a file, use `withParent` of `folder.ts`, which keeps the
   * folder open.
   *
   * @throws {OutsideError | MissingError | InvalidPathError}
   */
  resolve(path: string, options?: ResolveOptions): Promise<string>;
  /** As `resolve`, but returns also the names from the root, and whether the file exists. */
  locate(path: string, options?: ResolveOptions): Promise<Location>;
}

/** The number of symlinks that Linux follows in one path. */
const MOST_LINKS = 40;
const LONGEST_NAME_BYTES = 255;
const LONGEST_PATH_BYTES = 4095;

/** Creates the root at `directory`, which is created if it does not exist. @throws if it is not a folder */
export async function createRoot(directory: string): Promise<Root> {
  await mkdir(directory, { recursive: true });
  const path = await realpath(directory);
  if (!(await stat(path)).isDirectory()) throw new TypeError(`Cannot use "${directory}" as root: it is not a folder`);
  const locateIn = (wanted: string, options: ResolveOptions = {}) => locate(path, wanted, options);
  return { path, locate: locateIn, resolve: async (wanted, options) => (await locateIn(wanted, options)).path };
}

/**
 * State of resolving a path. `position` are the names from `/` to the current place; all are real except the last
 * `missing` ones. `pending` is the stack of names that are still to be resolved.
 */
interface Walk {
  root: string[];
  wanted: string;
  position: string[];
  pending: string[];
  missing: number;
  links: number;
}

async function locate(root: string, wanted: string, options: ResolveOptions): Promise<Location> {
  checkText(wanted);
  const rootParts = namesOf(root);
  const walk: Walk = { root: rootParts, wanted, position: [], pending: [], missing: 0, links: 0 };
  enter(walk, wanted, rootParts);
  for (let name = walk.pending.pop(); name !== undefined; name = walk.pending.pop()) {
    if (name === "..") stepUp(walk);
    else await stepInto(walk, name, options.followLast ?? true);
  }
  if (walk.position.length < rootParts.length) throw outside(wanted);
  if (walk.missing > 0 && options.missing !== "allow") throw missing(wanted);
  const parts = walk.position.slice(rootParts.length);
  return { parts, path: join(root, ...parts), exists: walk.missing === 0 };
}

/** Puts the names of `target` on top of the stack. An absolute target starts at `/`. */
function enter(walk: Walk, target: string, from: string[]): void {
  walk.position = target.startsWith("/") ? [] : [...from];
  walk.pending.push(...namesOf(target).reverse());
}

function stepUp(walk: Walk): void {
  walk.position.pop();
  walk.missing = Math.max(0, walk.missing - 1);
}

async function stepInto(walk: Walk, name: string, followLast: boolean): Promise<void> {
  const { root, position, wanted } = walk;
  checkName(name, wanted);
  // Above the root, only the names of the root's own real path are allowed. They contain no symlinks, so they need no
  // check.
  if (position.length < root.length) {
    if (root[position.length] !== name) throw outside(wanted);
    position.push(name);
    return;
  }
  const kind = walk.missing > 0 ? "missing" : await kindAt(`/${[...position, name].join("/")}`, wanted);
  if (kind === "link" && (followLast || walk.pending.length > 0)) {
    if (++walk.links > MOST_LINKS) throw new InvalidPathError(`Cannot follow "${wanted}": too many symlinks`);
    enter(walk, await readTarget(bytePath(`/${[...position, name].join("/")}`)), position);
    return;
  }
  if (kind === "missing") walk.missing++;
  position.push(name);
}

async function kindAt(path: string, wanted: string): Promise<"link" | "missing" | "there"> {
  try {
    return (await lstat(bytePath(path))).isSymbolicLink() ? "link" : "there";
  } catch (error) {
    const code = codeOf(error);
    if (code === "ENOENT") return "missing";
    if (code === "ENOTDIR") throw missing(wanted);
    throw error;
  }
}

function checkText(wanted: string): void {
  if (wanted.includes("\0")) throw new InvalidPathError("Cannot use a path: it holds a NUL byte");
  if (bytesOfName(wanted).length > LONGEST_PATH_BYTES) throw new InvalidPathError("Cannot use a path: it is too long");
}

function checkName(name: string, wanted: string): void {
  if (bytesOfName(name).length > LONGEST_NAME_BYTES) {
    throw new InvalidPathError(`Cannot use "${wanted}": a name in it is too long`);
  }
}

/** Splits a path, without empty names and `.`. */
function namesOf(path: string): string[] {
  return path.split("/").filter((name) => name !== "" && name !== ".");
}

/** Creates the error for a path that leads out. The message shows the requested path, not where it leads. */
export function outside(wanted: string): OutsideError {
  return new OutsideError(`Cannot use "${wanted}": it leads out of the root`);
}

/** Creates the error for a path at which nothing exists. */
export function missing(wanted: string): MissingError {
  return new MissingError(`Cannot find "${wanted}": nothing is there`);
}

/** Returns the code of a system error, such as `ENOENT`; undefined for other errors. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}
