/** Walks a folder of the caller's disk, a folder before what is in it; follows no symlink, changes nothing. @module */
import type { Stats } from "node:fs";
import { lstat } from "node:fs/promises";
import { isAbsolute, join, posix, sep } from "node:path";
import { bytePath, entriesIn, readTarget } from "../../process/bytepaths.ts";
import type { TransferOptions } from "../files/transfer.ts";

/** Something to send. */
export interface LocalEntry {
  /** From the folder on, with slashes. */
  name: string;
  /** Path on this machine. For `node:fs`, convert it by `bytePath`. */
  path: string;
  type: "file" | "directory" | "symlink";
  stats: Stats;
  /** Of a symlink: what is in it. */
  linkname?: string;
}

/** What to leave out. */
export interface WalkOptions {
  filter?: TransferOptions["filter"];
  /** Told of what cannot be sent. */
  onSkipped(name: string, reason: string): void;
}

/** Yields what is in the folder and below. What is taken away meanwhile is not there. */
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
