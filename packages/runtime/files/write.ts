/** Writes files atomically: to a temporary file in the same folder, which is then renamed. @module */
import { Buffer } from "node:buffer";
import { randomBytes } from "node:crypto";
import { constants, type Stats } from "node:fs";
import { type FileHandle, lstat, open, rename, unlink } from "node:fs/promises";
import type { FSPath } from "../../process/bytepaths.ts";
import { codeOf, MissingError, type Root } from "../confine.ts";
import { type Folder, withParent } from "./folder.ts";
import { Refused } from "./refused.ts";

/** Options of writing a file. */
export interface WriteOptions {
  /** Permission bits. Absent: those of the replaced file, or 0644. */
  mode?: number | undefined;
  /** Largest number of bytes. A longer file is refused, and nothing is written. */
  maxBytes?: number | undefined;
  /** Modification time to set. */
  modifiedAt?: Date | undefined;
  /** Whether to write to the target of a symlink at the path; if false, the symlink is replaced. @default {true} */
  followLast?: boolean;
  /** Called with the descriptor of the complete file, before the file gets its name. */
  onComplete?: (descriptor: number) => void;
}

const NEW_FILE_MODE = 0o644;

/** Prefix of the names of temporary files. Watches do not report these files. */
export const TEMPORARY_PREFIX = ".hookbox-upload-";

/**
 * Writes `source` to `path`, and creates missing parent folders. Readers see either the old file or the new one. If the
 * source fails, the old file stays. If the path is a symlink to a path in the root, the target is written.
 *
 * @returns number of bytes written
 * @throws {OutsideError | InvalidPathError | Refused} INVALID_ARGUMENT for a folder, RESOURCE_EXHAUSTED above
 * `maxBytes`
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

/** Calls `use` with the parent folder of a file that is to be written. @throws as `writeWhole` */
export async function withTarget<T>(
  root: Root,
  path: string,
  followLast: boolean,
  use: (folder: Folder, name: string) => Promise<T>,
): Promise<T> {
  try {
    return await withParent(root, path, { missing: "allow", make: true, followLast }, async (folder, name) => {
      if (name === undefined || (!root.isConfined && /\/\.?$/.test(path))) throw isFolder(path);
      return await use(folder, name);
    });
  } catch (error) {
    if (!(error instanceof MissingError)) throw error;
    throw new Refused("INVALID_ARGUMENT", `Cannot write "${path}": its parent is not a folder`);
  }
}

/** A temporary file. */
export interface Temporary {
  name: string;
  bytes: number;
}

/** Writes the source to a temporary file in the same folder. If it fails, the temporary file is deleted. */
export async function writeTemporary(
  folder: Folder,
  name: string,
  wanted: string,
  source: AsyncIterable<Uint8Array>,
  options: WriteOptions,
): Promise<Temporary> {
  const old = await statIfExists(folder.at(name));
  if (old?.isDirectory()) throw isFolder(wanted);
  // Otherwise a file would take the place of /dev/null, for example.
  if (old && !old.isFile() && !old.isSymbolicLink()) {
    throw new Refused("PERMISSION_DENIED", `Cannot write "${wanted}": it is a socket, pipe or device`);
  }
  const temporary = TEMPORARY_PREFIX + randomBytes(9).toString("base64url");
  const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;
  const handle = await open(folder.at(temporary), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
  try {
    const bytes = await copyTo(source, handle, wanted, options.maxBytes);
    await setAttributes(handle, old, options);
    options.onComplete?.(handle.fd);
    await handle.close();
    return { name: temporary, bytes };
  } catch (error) {
    await handle.close();
    await discard(folder, temporary);
    throw error;
  }
}

/** Renames a temporary file to its final name. */
export async function commit(folder: Folder, temporary: Temporary, name: string): Promise<void> {
  try {
    await rename(folder.at(temporary.name), folder.at(name));
  } catch (error) {
    await discard(folder, temporary.name);
    throw error;
  }
}

/** Deletes a temporary file. */
export async function discard(folder: Folder, temporary: string): Promise<void> {
  await unlink(folder.at(temporary)).catch(() => {});
}

async function copyTo(
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

/** Writes the whole chunk, because one write may accept only a part of it. */
async function writeAll(handle: FileHandle, chunk: Uint8Array): Promise<void> {
  for (let done = 0; done < chunk.length;) {
    done += (await handle.write(Buffer.from(chunk.buffer, chunk.byteOffset + done, chunk.length - done))).bytesWritten;
  }
}

/** Sets mode and owner by the descriptor, before the file is visible under its name. */
async function setAttributes(handle: FileHandle, old: Stats | undefined, options: WriteOptions): Promise<void> {
  if (old?.isFile()) {
    const own = await handle.stat();
    // Only root may change the owner. For other users, the file becomes theirs, as with any editor that writes this
    // way.
    if (own.uid !== old.uid || own.gid !== old.gid) await handle.chown(old.uid, old.gid).catch(() => {});
  }
  await handle.chmod(options.mode ?? (old?.isFile() ? old.mode & 0o777 : NEW_FILE_MODE));
  if (options.modifiedAt) await handle.utimes(options.modifiedAt, options.modifiedAt);
}

async function statIfExists(at: FSPath): Promise<Stats | undefined> {
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
