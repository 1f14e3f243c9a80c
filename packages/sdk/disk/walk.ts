/** Walks a folder of the local disk: yields each folder before its content, and does not follow symlinks. @module */
import type { Stats } from "node:fs";
import { lstat } from "node:fs/promises";
import { isAbsolute, join, posix, sep } from "node:path";
import { bytePath, entriesIn, readTarget } from "../../process/bytepaths.ts";
import type { TransferOptions } from "../files/transfer.ts";

/** A file, folder or symlink to upload. */
export interface LocalEntry {
  /** Path relative to the folder, with slashes. */
  name: string;
  /** Path on this machine. Convert it with `bytePath` for `node:fs`. */
  path: string;
  type: "file" | "directory" | "symlink";
  stats: Stats;
  /** Only for symlinks: the path that it contains. */
  linkname?: string;
}

/** What to leave out. */
export interface WalkOptions {
  filter?: TransferOptions["filter"];
  /** Called for entries that cannot be sent. */
  onSkipped(name: string, reason: string): void;
}

/** Yields all entries of the folder and its subfolders. Entries that are deleted during the walk are left out. */
export async function* walk(folder: string, options: WalkOptions, prefix = ""): AsyncGenerator<LocalEntry> {
  for await (const { name: own } of entriesIn(bytePath(folder))) {
    const name = prefix + own;
    const entry = await describe(join(folder, own), name, options);
    if (!entry || options.filter?.(name, entry.type) === false) continue;
    yield entry;
    if (entry.type === "directory") yield* walk(entry.path, options, `${name}/`);
  }
}

async function describe(path: string, name: string, { onSkipped }: WalkOptions): Promise<LocalEntry | undefined> {
  const stats = await lstat(bytePath(path)).catch(nothingThere);
  if (!stats) return undefined;
  if (stats.isFile()) return { name, path, type: "file", stats };
  if (stats.isDirectory()) return { name, path, type: "directory", stats };
  if (!stats.isSymbolicLink()) return void onSkipped(name, "it is a socket, pipe or device");
  const linkname = (await readTarget(bytePath(path))).replaceAll(sep, "/");
  if (!leadsOut(name, linkname)) return { name, path, type: "symlink", stats, linkname };
  return void onSkipped(name, `it leads out of the folder, to ${JSON.stringify(linkname)}`);
}

function leadsOut(name: string, linkname: string): boolean {
  const to = posix.join(posix.dirname(name), linkname);
  return isAbsolute(linkname) || to === ".." || to.startsWith("../");
}

function nothingThere(error: unknown): undefined {
  if ((error as { code?: string }).code !== "ENOENT") throw error;
}
