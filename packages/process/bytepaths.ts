/**
 * Reads paths and folders with `node:fs`, even if names are not UTF-8 (see filenames.ts). Deno cannot use such names.
 * @module
 */
import { Buffer } from "node:buffer";
import type { Dirent } from "node:fs";
import { lstat, opendir, readlink, realpath } from "node:fs/promises";
import { bytesOfName, isEscaped, textOfName } from "./filenames.ts";
import { ON_DENO } from "./runprocess.ts";

/** A path as `node:fs` accepts it: bytes if a name in it is not UTF-8. */
export type FSPath = string | Buffer;

/** This process cannot use a file, because its name is not UTF-8. */
export class UnreachableNameError extends Error {
  override name = "UnreachableNameError";
  constructor(path: string) {
    super(
      `the name ${JSON.stringify(path.slice(path.lastIndexOf("/") + 1))} is not UTF-8, and Deno cannot use such names`,
    );
  }
}

/** Returns a path as `node:fs` accepts it. @throws {UnreachableNameError} on Deno, if a name in it is not UTF-8 */
export function bytePath(path: string): FSPath {
  if (!isEscaped(path)) return path;
  if (ON_DENO) throw new UnreachableNameError(path);
  return Buffer.from(bytesOfName(path));
}

/** An entry of a folder. */
export interface FolderEntry {
  name: string;
  isDirectory: boolean;
}

/** Lists a folder. @throws {UnreachableNameError} on Deno, if a name is not UTF-8: no entry is left out silently */
export async function* entriesIn(folder: FSPath): AsyncGenerator<FolderEntry> {
  if (ON_DENO) {
    for await (const entry of await opendir(folder)) {
      // Deno replaces bytes that are not UTF-8 with this character.
      if (entry.name.includes("\ufffd") && !await isThere(`${folder}/${entry.name}`)) {
        throw new UnreachableNameError(entry.name);
      }
      yield { name: entry.name, isDirectory: entry.isDirectory() };
    }
    return;
  }
  // The types lack "buffer" as an encoding of names.
  const options = { encoding: "buffer" as BufferEncoding };
  for await (const entry of await opendir(folder, options) as AsyncIterable<Dirent | Buffer>) {
    if (!Buffer.isBuffer(entry)) {
      yield { name: textOfName(entry.name as unknown as Uint8Array), isDirectory: entry.isDirectory() };
      continue;
    }
    // Bun yields names in place of entries.
    const path = Buffer.concat([Buffer.from(folder), Buffer.from("/"), entry]);
    yield { name: textOfName(entry), isDirectory: (await lstat(path)).isDirectory() };
  }
}

/** Reads the target of a symlink. */
export async function readTarget(link: FSPath): Promise<string> {
  return ON_DENO ? await readlink(link) : textOfName(await readlink(link, { encoding: "buffer" }));
}

/** Resolves all symlinks of a path. */
export async function realPath(path: string): Promise<string> {
  return ON_DENO ? await realpath(path) : textOfName(await realpath(bytePath(path), { encoding: "buffer" }));
}

async function isThere(path: string): Promise<boolean> {
  return await lstat(path).then(() => true, () => false);
}
