/** Writes files, folders and symlinks into one folder of the local disk, and never outside of it. @module */
import { randomUUID } from "node:crypto";
import { chmod, lstat, mkdir, open, rename, symlink, unlink, utimes } from "node:fs/promises";
import { join, sep } from "node:path";
import { bytePath, type FSPath } from "../../process/bytepaths.ts";
import { ConflictError } from "../errors.ts";

/** A name or a symlink would lead out of the folder. */
export class LeadsOutError extends Error {
  override name = "LeadsOutError";
}

/** Mode and time of a file or folder. */
export interface FileAttributes {
  /** Permission bits. Other bits, such as setuid, are ignored. */
  mode: number;
  modifiedAt: Date;
}

/** The mode bits that a sandbox may set. A setuid program would run as the user who downloads it. */
const PERMISSIONS = 0o777;

/** Writes below one folder. Paths are lists of names, from {@link partsOf}. */
export interface Extractor {
  /**
   * Creates a folder and its missing parents.
   *
   * @throws {@link ConflictError} if one of them exists and is not a folder; a symlink to a folder is not a folder
   */
  folder(parts: string[]): Promise<void>;
  /** Writes a file atomically. An existing file is replaced; an existing symlink too, not the file that it leads to. */
  file(parts: string[], content: AsyncIterable<Uint8Array>, dress: FileAttributes): Promise<void>;
  /** Creates a symlink. @throws {LeadsOutError} if it leads out of the folder, or may do so */
  link(parts: string[], linkname: string): Promise<void>;
  /** Sets mode and time of a folder. To be called after everything in it is written. */
  dress(parts: string[], dress: FileAttributes): Promise<void>;
}

/**
 * Splits the name of an entry into its parts.
 *
 * @throws {LeadsOutError} if it is absolute, contains "..", or has a special meaning on this system
 */
export function partsOf(name: string): string[] {
  const parts = name.split("/").filter((part) => part !== "" && part !== ".");
  const isForeign = sep === "\\" && /[\\:]/.test(name);
  if (name.startsWith("/") || parts.includes("..") || name.includes("\0") || isForeign) {
    throw new LeadsOutError(`${JSON.stringify(name)} leads out of the folder`);
  }
  return parts;
}

/** Creates an extractor for an existing folder. @param top real path of the folder, without symlinks */
export function createExtractor(top: string): Extractor {
  const at = (parts: string[]) => join(top, ...parts);
  const place = (parts: string[]) => bytePath(at(parts));
  // Paths that are known to be real folders. They stay so, because the extractor never replaces a folder.
  const known = new Set([""]);
  const folder = async (parts: string[]) => {
    for (let depth = 1; depth <= parts.length; depth++) {
      const path = parts.slice(0, depth).join("/");
      if (known.has(path)) continue;
      await makeRealFolder(at(parts.slice(0, depth)));
      known.add(path);
    }
  };
  return {
    folder,
    file: async (parts, content, dress) => {
      await folder(parts.slice(0, -1));
      await writeWhole(at(parts), content, dress);
    },
    link: async (parts, linkname) => {
      checkLink(parts, linkname);
      await folder(parts.slice(0, -1));
      await putInPlace(at(parts), (temporary) => symlink(bytePath(linkname), temporary));
    },
    dress: async (parts, { mode, modifiedAt }) => {
      await utimes(place(parts), modifiedAt, modifiedAt);
      await chmod(place(parts), mode & PERMISSIONS);
    },
  };
}

/**
 * Allows ".." only at the beginning of a link. If a name before ".." is itself a symlink, ".." leads to the parent of
 * that symlink's target, which may be outside of the folder.
 */
function checkLink(parts: string[], linkname: string): void {
  const steps = linkname.split("/").filter((step) => step !== "" && step !== ".");
  const ups = steps.findIndex((step) => step !== "..");
  const up = ups === -1 ? steps.length : ups;
  const isForeign = sep === "\\" && /[\\:]/.test(linkname);
  if (linkname.startsWith("/") || isForeign || up > parts.length - 1 || steps.slice(up).includes("..")) {
    throw new LeadsOutError(`it leads out of the folder, to ${JSON.stringify(linkname)}`);
  }
}

async function makeRealFolder(path: string): Promise<void> {
  await mkdir(bytePath(path)).catch(async (error) => {
    if (error.code !== "EEXIST") throw error;
    if ((await lstat(bytePath(path))).isDirectory()) return;
    throw new ConflictError(`Cannot make folder ${JSON.stringify(path)}: something that is not a folder is there`);
  });
}

/** Writes a temporary file in the same folder, then renames it. */
export async function writeWhole(
  path: string,
  content: AsyncIterable<Uint8Array>,
  dress: FileAttributes,
): Promise<void> {
  await putInPlace(path, async (temporary) => {
    const handle = await open(temporary, "wx", 0o600);
    try {
      for await (const chunk of content) await handle.writeFile(chunk);
      await handle.utimes(dress.modifiedAt, dress.modifiedAt);
      await handle.chmod(dress.mode & PERMISSIONS);
    } finally {
      await handle.close();
    }
  });
}

async function putInPlace(path: string, make: (temporary: FSPath) => Promise<void>): Promise<void> {
  const temporary = bytePath(join(path, "..", `.hookbox-download-${randomUUID()}`));
  try {
    await make(temporary);
    await rename(temporary, bytePath(path));
  } catch (error) {
    await unlink(temporary).catch(() => {});
    const isFolder = await lstat(bytePath(path)).then((stats) => stats.isDirectory(), () => false);
    const isTaken = ["EISDIR", "ENOTEMPTY", "EEXIST", "EPERM"].includes((error as { code: string }).code);
    if (!isFolder || !isTaken) throw error;
    throw new ConflictError(`Cannot write ${JSON.stringify(path)}: a folder is there`);
  }
}
