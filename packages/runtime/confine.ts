/** Finds where a path inside the root ends up, through every symlink; reads folders and links, changes nothing. @module */
import { lstat, mkdir, realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import { bytePath, readTarget } from "../process/bytepaths.ts";
import { bytesOfName } from "../process/filenames.ts";

/** A path that ends up outside the root, or would have to leave it on its way. */
export class OutsideError extends Error {
  override name = "OutsideError";
}

/** A path at which nothing is, or that goes on below something that is not a folder. */
export class MissingError extends Error {
  override name = "MissingError";
}

/** A path that no file can have: a NUL byte, a name over the limit, or links in a circle. */
export class InvalidPathError extends Error {
  override name = "InvalidPathError";
}

/** What to do where nothing is at a path: refuse it, or say where it would be. */
export interface ResolveOptions {
  /** @default {"refuse"} */
  missing?: "refuse" | "allow";
  /** False: a symlink at the last step stands for itself. @default {true} */
  followLast?: boolean;
}

/** Where a path ends up. */
export interface Location {
  /** Names from the root on, no symlink among them; empty for the root itself. */
  parts: string[];
  /** The same as an absolute path. For `node:fs`, convert it by `bytePath`. */
  path: string;
  /** False where nothing is there (yet). */
  exists: boolean;
}

/** A folder that nothing leads out of. */
export interface Root {
  /** Its real path: absolute, without symlinks. */
  path: string;
  /**
   * Returns the real absolute path of `path`: relative to the root, or absolute and within it.
   *
   * The answer is true at this moment only; to open or change a file use `withParent` of `folder.ts`, which holds on.
   *
   * @throws {OutsideError | MissingError | InvalidPathError}
   */
  resolve(path: string, options?: ResolveOptions): Promise<string>;
  /** As `resolve`, with the names from the root on and whether anything is there. */
  locate(path: string, options?: ResolveOptions): Promise<Location>;
}

/** As many symlinks as Linux follows on one path. */
const MOST_LINKS = 40;
const LONGEST_NAME_BYTES = 255;
const LONGEST_PATH_BYTES = 4095;

/** Makes the root of `directory`, which is created if missing. @throws if it is not a folder */
export async function createRoot(directory: string): Promise<Root> {
  await mkdir(directory, { recursive: true });
  const path = await realpath(directory);
  if (!(await stat(path)).isDirectory()) throw new TypeError(`Cannot use "${directory}" as root: it is not a folder`);
  const locateIn = (wanted: string, options: ResolveOptions = {}) => locate(path, wanted, options);
  return { path, locate: locateIn, resolve: async (wanted, options) => (await locateIn(wanted, options)).path };
}

/** Where a walk is: `position` are names from `/` on, real but for the last `missing` ones; `pending` is a stack. */
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

/** Puts the names of `target` before what is pending; an absolute one starts at `/`. */
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
  // Above the root only the way back to it is known, and its real path holds no links: nothing is looked at there.
  if (position.length < root.length) {
    if (root[position.length] !== name) throw outside(wanted);
    position.push(name);
    return;
  }
  const kind = walk.missing > 0 ? "missing" : await look(`/${[...position, name].join("/")}`, wanted);
  if (kind === "link" && (followLast || walk.pending.length > 0)) {
    if (++walk.links > MOST_LINKS) throw new InvalidPathError(`Cannot follow "${wanted}": too many symlinks`);
    enter(walk, await readTarget(bytePath(`/${[...position, name].join("/")}`)), position);
    return;
  }
  if (kind === "missing") walk.missing++;
  position.push(name);
}

async function look(path: string, wanted: string): Promise<"link" | "missing" | "there"> {
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

/** Splits a path; empty names and `.` say nothing. */
function namesOf(path: string): string[] {
  return path.split("/").filter((name) => name !== "" && name !== ".");
}

/** Makes the error for a path that leads out. The message names what was asked for, never where it would have led. */
export function outside(wanted: string): OutsideError {
  return new OutsideError(`Cannot use "${wanted}": it leads out of the root`);
}

/** Makes the error for a path at which nothing is. */
export function missing(wanted: string): MissingError {
  return new MissingError(`Cannot find "${wanted}": nothing is there`);
}

/** Returns the code of a system error (`ENOENT`); undefined for anything else. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}
