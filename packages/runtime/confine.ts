/**
 * Resolves the paths of requests through all symlinks: in the whole file system, or confined to one folder.
 * @module
 */
import { constants } from "node:fs";
import { access, lstat, mkdir, realpath, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import process from "node:process";
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

/**
 * The files that requests reach: those below one folder. If the folder is `/`, these are all files, and a path means
 * what it means in a shell: it is relative to the working directory, absolute, or starts with `~`.
 */
export interface Root {
  /** Its real path: absolute and without symlinks. */
  path: string;
  /** Whether requests reach only a part of the file system. A relative path is then relative to that part. */
  isConfined: boolean;
  /** Real path of the folder from which relative paths start, and in which commands run. */
  workdir: string;
  /** The home directory, which `~` means. Undefined for a confined root, in which `~` is an ordinary name. */
  home: string | undefined;
  /**
   * Returns the real absolute path of `path`: relative to the working directory, or absolute. `~` and `~/…` mean the
   * home directory, unless the root is confined.
   *
   * The result is valid only at this moment. To open or change a file, use `withParent` of `folder.ts`, which keeps the
   * folder open.
   *
   * @throws {OutsideError | MissingError | InvalidPathError}
   */
  resolve(path: string, options?: ResolveOptions): Promise<string>;
  /** As `resolve`, but returns also the names from the root, and whether the file exists. */
  locate(path: string, options?: ResolveOptions): Promise<Location>;
  /** Returns the path for callers of the file with these names from the root: absolute, or relative to a confined root. */
  shown(parts: string[]): string;
}

/** The number of symlinks that Linux follows in one path. */
const MOST_LINKS = 40;
const LONGEST_NAME_BYTES = 255;
const LONGEST_PATH_BYTES = 4095;

/**
 * Confines all paths to `directory`, which is created if it does not exist.
 *
 * @throws if it is not a folder
 */
export async function createRoot(directory: string): Promise<Root> {
  const path = await realFolder(directory, "root");
  return rootAt({ path, isConfined: true, workdir: path, home: undefined });
}

/**
 * Serves the whole file system. Without `directory`, the working directory is that of this process, which is the image's
 * `WORKDIR`. If that is `/`, it is `/workspace`, which is created if possible, and otherwise the home directory.
 *
 * @param directory created if it does not exist
 * @throws if it is not a folder
 */
export async function createOpenRoot(directory: string | undefined): Promise<Root> {
  const home = homeDirectory();
  const workdir = await realFolder(directory ?? await defaultWorkdir(home), "working directory");
  return rootAt({ path: "/", isConfined: false, workdir, home });
}

/** Confines all paths to a folder whose real path is known. */
export function confinedTo(path: string): Root {
  return rootAt({ path, isConfined: true, workdir: path, home: undefined });
}

const DEFAULT_WORKDIR = "/workspace";

async function defaultWorkdir(home: string): Promise<string> {
  const inherited = process.cwd();
  if (inherited !== "/") return inherited;
  try {
    await mkdir(DEFAULT_WORKDIR, { recursive: true });
    await access(DEFAULT_WORKDIR, constants.X_OK);
    return DEFAULT_WORKDIR;
  } catch {
    return home;
  }
}

/** Returns `HOME`, or the home directory of the user. `/`: the user has none. */
export function homeDirectory(): string {
  try {
    const home = process.env["HOME"] || homedir();
    return home.startsWith("/") ? home : "/";
  } catch {
    return "/";
  }
}

async function realFolder(directory: string, what: string): Promise<string> {
  await mkdir(directory, { recursive: true });
  const path = await realpath(directory);
  if (!(await stat(path)).isDirectory()) {
    throw new TypeError(`Cannot use "${directory}" as ${what}: it is not a folder`);
  }
  return path;
}

type Base = Pick<Root, "path" | "isConfined" | "workdir" | "home">;

function rootAt(base: Base): Root {
  const locateIn = (wanted: string, options: ResolveOptions = {}) => locate(base, wanted, options);
  const { path, isConfined } = base;
  return {
    ...base,
    locate: locateIn,
    resolve: async (wanted, options) => (await locateIn(wanted, options)).path,
    shown: (parts) => isConfined ? parts.join("/") || "." : join(path, ...parts),
  };
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

async function locate(base: Base, wanted: string, options: ResolveOptions): Promise<Location> {
  checkText(wanted);
  const rootParts = namesOf(base.path);
  const walk: Walk = { root: rootParts, wanted, position: [], pending: [], missing: 0, links: 0 };
  enter(walk, withHome(wanted, base.home), namesOf(base.workdir));
  const followLast = options.followLast ?? true;
  for (let name = walk.pending.pop(); name !== undefined; name = walk.pending.pop()) {
    if (name === "..") await stepUp(walk, base.isConfined);
    else await stepInto(walk, name, followLast);
  }
  if (walk.position.length < rootParts.length) throw outside(wanted);
  if (walk.missing > 0 && options.missing !== "allow") throw missing(wanted);
  if (!base.isConfined && /\/\.?$/.test(wanted)) await checkFolder(walk, !followLast);
  const parts = walk.position.slice(rootParts.length);
  return { parts, path: join(base.path, ...parts), exists: walk.missing === 0 };
}

function withHome(wanted: string, home: string | undefined): string {
  return home !== undefined && (wanted === "~" || wanted.startsWith("~/")) ? home + wanted.slice(1) : wanted;
}

/** Puts the names of `target` on top of the stack. An absolute target starts at `/`. */
function enter(walk: Walk, target: string, from: string[]): void {
  walk.position = target.startsWith("/") ? [] : [...from];
  walk.pending.push(...namesOf(target).reverse());
}

/** In a confined root, the name before `..` need not exist. Elsewhere it must be a folder, as the kernel demands. */
async function stepUp(walk: Walk, isConfined: boolean): Promise<void> {
  if (!isConfined) {
    if (walk.missing > 0) throw missing(walk.wanted);
    await checkFolder(walk);
  }
  walk.position.pop();
  walk.missing = Math.max(0, walk.missing - 1);
}

/** @throws {MissingError} if something other than a folder exists at the current place */
async function checkFolder({ position, missing: below, wanted }: Walk, orLink = false): Promise<void> {
  if (below > 0) return;
  const found = await lstat(bytePath(`/${position.join("/")}`));
  if (!found.isDirectory() && !(orLink && found.isSymbolicLink())) throw missing(wanted);
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
