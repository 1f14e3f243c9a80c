/** Writes a file whole or not at all: a temporary file beside it, then a rename. @module */
import { Buffer } from "node:buffer";
import { randomBytes } from "node:crypto";
import { constants, type Stats } from "node:fs";
import { type FileHandle, lstat, open, rename, unlink } from "node:fs/promises";
import type { FSPath } from "../../process/bytepaths.ts";
import { codeOf, MissingError, type Root } from "../confine.ts";
import { type Folder, withParent } from "./folder.ts";
import { Refused } from "./refused.ts";

/** How to write. */
export interface WriteOptions {
  /** Permission bits. Without: those of the file that is replaced, else 0644. */
  mode?: number | undefined;
  /** Most bytes; more is refused and leaves nothing. */
  maxBytes?: number | undefined;
  /** Modification time to set. */
  modifiedAt?: Date | undefined;
  /** False: a symlink at the path is replaced, not written through. @default {true} */
  followLast?: boolean;
}

const NEW_FILE_MODE = 0o644;

/** Names of files that are being written begin so; file watches leave them out. */
export const TEMPORARY_PREFIX = ".hookbox-upload-";

/**
 * Writes `source` to `path`, folders above it made as needed. Readers see the old file or the new one, nothing between;
 * if the source fails, the old one stays. A symlink to a place in the root is written through.
 *
 * @returns bytes written
 * @throws {OutsideError | InvalidPathError | Refused} INVALID_ARGUMENT for a folder, RESOURCE_EXHAUSTED over `maxBytes`
 */
export async function writeWhole(
  root: Root,
  path: string,
  source: AsyncIterable<Uint8Array>,
  options: WriteOptions = {},
): Promise<number> {
  return await withTarget(root, path, options.followLast ?? true, async (folder, name) => {
    const written = await writeTemporary(folder, name, path, source, options);
    await commit(folder, written, name);
    return written.bytes;
  });
}

/** Calls `use` with the folder that a file at `path` belongs in. @throws as `writeWhole` */
export async function withTarget<T>(
  root: Root,
  path: string,
  followLast: boolean,
  use: (folder: Folder, name: string) => Promise<T>,
): Promise<T> {
  try {
    return await withParent(root, path, { missing: "allow", make: true, followLast }, async (folder, name) => {
      if (name === undefined) throw isFolder(path);
      return await use(folder, name);
    });
  } catch (error) {
    if (!(error instanceof MissingError)) throw error;
    throw new Refused("INVALID_ARGUMENT", `Cannot write "${path}": its parent is not a folder`);
  }
}

/** A file written beside its place. */
export interface Temporary {
  name: string;
  bytes: number;
}

/** Writes the source beside `name`. Nothing is left if it fails. */
export async function writeTemporary(
  folder: Folder,
  name: string,
  wanted: string,
  source: AsyncIterable<Uint8Array>,
  options: WriteOptions,
): Promise<Temporary> {
  const old = await statIfThere(folder.at(name));
  if (old?.isDirectory()) throw isFolder(wanted);
  const temporary = TEMPORARY_PREFIX + randomBytes(9).toString("base64url");
  const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;
  const handle = await open(folder.at(temporary), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
  try {
    const bytes = await pour(source, handle, wanted, options.maxBytes);
    await dress(handle, old, options);
    await handle.close();
    return { name: temporary, bytes };
  } catch (error) {
    await handle.close();
    await discard(folder, temporary);
    throw error;
  }
}

/** Puts a file that has been written in its place. */
export async function commit(folder: Folder, temporary: Temporary, name: string): Promise<void> {
  try {
    await rename(folder.at(temporary.name), folder.at(name));
  } catch (error) {
    await discard(folder, temporary.name);
    throw error;
  }
}

/** Takes away a file that is not to be put in its place. */
export async function discard(folder: Folder, temporary: string): Promise<void> {
  await unlink(folder.at(temporary)).catch(() => {});
}

async function pour(
  source: AsyncIterable<Uint8Array>,
  handle: FileHandle,
  wanted: string,
  maxBytes = Infinity,
): Promise<number> {
  let bytes = 0;
  for await (const chunk of source) {
    bytes += chunk.length;
    if (bytes > maxBytes) {
      throw new Refused("RESOURCE_EXHAUSTED", `Cannot write "${wanted}": it has more than ${maxBytes} bytes`);
    }
    await writeAll(handle, chunk);
  }
  return bytes;
}

/** A write may take less than it was given. */
async function writeAll(handle: FileHandle, chunk: Uint8Array): Promise<void> {
  for (let done = 0; done < chunk.length;) {
    done += (await handle.write(Buffer.from(chunk.buffer, chunk.byteOffset + done, chunk.length - done))).bytesWritten;
  }
}

/** Mode and owner are set through the descriptor, before anyone can see the file under its name. */
async function dress(handle: FileHandle, old: Stats | undefined, options: WriteOptions): Promise<void> {
  if (old?.isFile()) {
    const own = await handle.stat();
    // Only root may give a file away; for others the file becomes theirs, as with any editor that writes this way.
    if (own.uid !== old.uid || own.gid !== old.gid) await handle.chown(old.uid, old.gid).catch(() => {});
  }
  await handle.chmod(options.mode ?? (old?.isFile() ? old.mode & 0o777 : NEW_FILE_MODE));
  if (options.modifiedAt) await handle.utimes(options.modifiedAt, options.modifiedAt);
}

async function statIfThere(at: FSPath): Promise<Stats | undefined> {
  try {
    return await lstat(at);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

function isFolder(path: string): Refused {
  return new Refused("INVALID_ARGUMENT", `Cannot write "${path}": it is a folder`);
}
