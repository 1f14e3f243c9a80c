/** Describes files and lists folders; by default, symlinks that lead out of the root are not listed. @module */
import type { Stats } from "node:fs";
import { lstat, stat } from "node:fs/promises";
import { join } from "node:path";
import { bytePath, entriesIn, type FSPath } from "../../process/bytepaths.ts";
import { codeOf, InvalidPathError, MissingError, OutsideError, type Root } from "../confine.ts";
import { type Folder, isOfKernel, withFolder, withParent } from "./folder.ts";

/** An entry that may be a symlink. */
interface LinkEntry extends FileEntry {
  /** Only for symlinks: where it leads. Absent if it leads out of a confined root, or cannot be followed. */
  target?: string;
}

/**
 * Lists the folder `path`, sorted by name. A symlink is described as the file that it leads to; if it leads nowhere, as
 * `symlink`. A symlink that leads out of the root is not listed.
 *
 * @param links whether to list all symlinks as symlinks instead
 * @param below whether this is part of a list of several levels, for which a file system of the kernel is empty
 * @throws {OutsideError | MissingError | InvalidPathError} MissingError also for a file
 */
export async function listFolder(root: Root, path: string, links = false, below = false): Promise<LinkEntry[]> {
  const { parts } = await root.locate(path);
  return await withFolder(root, { parts, wanted: path }, async (folder) => {
    const entries: LinkEntry[] = [];
    if (below && await isOfKernel(folder.here)) return entries;
    for await (const { name } of entriesIn(folder.here)) {
      const entry = await describeEntry(root, folder, [...parts, name], links);
      if (entry) entries.push(entry);
    }
    return entries.sort((a, b) => a.name < b.name ? -1 : 1);
  });
}

/** The description of a single path. */
interface Description extends LinkEntry {
  path: string;
}

/**
 * Describes what exists at `path`. A symlink at the last step is not followed.
 *
 * @throws {OutsideError | MissingError | InvalidPathError}
 */
export async function describePath(root: Root, path: string): Promise<Description> {
  return await withParent(root, path, { followLast: false }, async (folder, name, parts) => {
    const stats = await lstat(name === undefined ? root.path : folder.at(name));
    return { ...await describeLink(root, parts, entryOf(name ?? ".", stats)), path: root.shown(parts) };
  });
}

async function describeEntry(
  root: Root,
  folder: Folder,
  parts: string[],
  links: boolean,
): Promise<LinkEntry | undefined> {
  const name = parts.at(-1) ?? "";
  const stats = await lstatIfExists(folder.at(name));
  if (!stats) return undefined;
  if (!stats.isSymbolicLink()) return entryOf(name, stats);
  if (links) return await describeLink(root, parts, entryOf(name, stats));
  const target = await followLink(root, parts);
  if (target === "outside") return undefined;
  const targetStats = target !== "denied" && target.exists ? await statIfExists(target.path) : undefined;
  return entryOf(name, targetStats ?? stats);
}

async function describeLink(root: Root, parts: string[], entry: FileEntry): Promise<LinkEntry> {
  const target = entry.type === "symlink" ? await followLink(root, parts) : "outside";
  return typeof target === "string" ? entry : { ...entry, target: root.shown(target.parts) };
}

/** Returns where a symlink leads. A symlink in a circle leads nowhere, but not out of the root. */
async function followLink(
  root: Root,
  parts: string[],
): Promise<{ parts: string[]; path: string; exists: boolean } | "outside" | "denied"> {
  try {
    return await root.locate(join(root.path, ...parts), { missing: "allow" });
  } catch (error) {
    if (error instanceof OutsideError) return "outside";
    if (error instanceof InvalidPathError || error instanceof MissingError) return { parts, path: "", exists: false };
    // Only the owner of a process may follow the links in its folder of /proc.
    if (["EACCES", "EPERM"].includes(codeOf(error) ?? "")) return "denied";
    throw error;
  }
}

/** A listed file may have been deleted a moment later. */
async function lstatIfExists(at: FSPath): Promise<Stats | undefined> {
  return await lstat(at).catch(() => undefined);
}

async function statIfExists(path: string): Promise<Stats | undefined> {
  return await stat(bytePath(path)).catch(() => undefined);
}

/** `symlink`: a symlink that leads nowhere or was not followed. `other`: a socket, pipe or device. */
export type EntryType = "file" | "directory" | "symlink" | "other";

/** A file in the response of `GET /v1/files/{folder}`. */
interface FileEntry {
  name: string;
  /** Size in bytes. */
  size: number;
  type: EntryType;
  /** RFC 3339, in UTC. */
  modified_at: string;
  /** Permission bits as four octal digits: `0644`. */
  mode: string;
}

/** Describes a file under this name. */
export function entryOf(name: string, stats: Stats): FileEntry {
  return {
    name,
    size: stats.size,
    type: entryType(stats),
    modified_at: modifiedOf(stats).toISOString(),
    mode: modeText(stats.mode),
  };
}

/** The years 0 to 9999, in milliseconds since the epoch. */
const WRITABLE_MS = { first: Date.parse("0000-01-01"), last: Date.parse("9999-12-31T23:59:59Z") };

/**
 * Returns the modification time. A time that RFC 3339 cannot express is replaced by the nearest one, because some file
 * systems allow any time.
 */
export function modifiedOf({ mtimeMs }: Stats): Date {
  return new Date(Math.min(WRITABLE_MS.last, Math.max(WRITABLE_MS.first, mtimeMs)));
}

function entryType(stats: Stats): EntryType {
  if (stats.isFile()) return "file";
  if (stats.isDirectory()) return "directory";
  return stats.isSymbolicLink() ? "symlink" : "other";
}

function modeText(mode: number): string {
  return `0${(mode & 0o777).toString(8).padStart(3, "0")}`;
}

const MODE = /^0[0-7]{3}$/;

/** Parses four octal digits as permission bits; undefined if the text is invalid. */
export function parseMode(text: string): number | undefined {
  return MODE.test(text) ? Number.parseInt(text, 8) : undefined;
}
