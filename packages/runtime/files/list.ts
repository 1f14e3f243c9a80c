/** Lists folders and describes paths; by default, symlinks that lead out of the root are not listed. @module */
import type { Stats } from "node:fs";
import { lstat, stat } from "node:fs/promises";
import { bytePath, entriesIn, type FSPath } from "../../process/bytepaths.ts";
import { InvalidPathError, MissingError, OutsideError, type Root } from "../confine.ts";
import { type Entry, entryOf } from "./entry.ts";
import { type Folder, withFolder, withParent } from "./folder.ts";

/** An entry that may be a symlink. */
export interface LinkEntry extends Entry {
  /** Only for symlinks: the path that it leads to, from the root. Absent if it leads out of the root. */
  target?: string;
}

/**
 * Lists the folder `path`, sorted by name. A symlink is described as the file that it leads to; if it leads nowhere, as
 * `symlink`. A symlink that leads out of the root is not listed.
 *
 * @param links whether to list all symlinks as symlinks instead
 * @throws {OutsideError | MissingError | InvalidPathError} MissingError also for a file
 */
export async function listFolder(root: Root, path: string, links = false): Promise<LinkEntry[]> {
  const { parts } = await root.locate(path);
  return await withFolder(root, { parts, wanted: path }, async (folder) => {
    const entries: LinkEntry[] = [];
    for await (const { name } of entriesIn(folder.here)) {
      const entry = await describe(root, folder, [...parts, name], links);
      if (entry) entries.push(entry);
    }
    return entries.sort((a, b) => a.name < b.name ? -1 : 1);
  });
}

/** The description of a single path. */
export interface Description extends LinkEntry {
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
    return { ...await describeLink(root, parts, entryOf(name ?? ".", stats)), path: parts.join("/") || "." };
  });
}

async function describe(
  root: Root,
  folder: Folder,
  parts: string[],
  links: boolean,
): Promise<LinkEntry | undefined> {
  const name = parts.at(-1) ?? "";
  const stats = await lstatIfThere(folder.at(name));
  if (!stats) return undefined;
  if (!stats.isSymbolicLink()) return entryOf(name, stats);
  if (links) return await describeLink(root, parts, entryOf(name, stats));
  const target = await follow(root, parts);
  if (target === "outside") return undefined;
  const targetStats = target.exists ? await statIfThere(target.path) : undefined;
  return entryOf(name, targetStats ?? stats);
}

async function describeLink(root: Root, parts: string[], entry: Entry): Promise<LinkEntry> {
  const target = entry.type === "symlink" ? await follow(root, parts) : "outside";
  return target === "outside" ? entry : { ...entry, target: target.parts.join("/") || "." };
}

/** Returns where a symlink leads. A symlink in a circle leads nowhere, but not out of the root. */
async function follow(
  root: Root,
  parts: string[],
): Promise<{ parts: string[]; path: string; exists: boolean } | "outside"> {
  try {
    return await root.locate(parts.join("/"), { missing: "allow" });
  } catch (error) {
    if (error instanceof OutsideError) return "outside";
    if (error instanceof InvalidPathError || error instanceof MissingError) return { parts, path: "", exists: false };
    throw error;
  }
}

/** A listed file may have been deleted a moment later. */
async function lstatIfThere(at: FSPath): Promise<Stats | undefined> {
  return await lstat(at).catch(() => undefined);
}

async function statIfThere(path: string): Promise<Stats | undefined> {
  return await stat(bytePath(path)).catch(() => undefined);
}
