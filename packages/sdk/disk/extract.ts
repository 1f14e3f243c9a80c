/** Writes files, folders and symlinks into one folder of the local disk, and never outside of it. @module */
import { randomUUID } from "node:crypto";
import { chmod, lstat, mkdir, open, rename, symlink, unlink, utimes } from "node:fs/promises";
import { join, sep } from "node:path";
import { bytePath, type FSPath } from "../../process/bytepaths.ts";
import { ConflictError } from "../errors.ts";

/** A path or a symlink leads out of the folder. */
export class OutsideFolderError extends Error {
  override name = "OutsideFolderError";
}

/** Permissions and modification time of a file or folder. */
export interface FileAttributes {
  /** Permission bits. Other bits, such as setuid, are ignored. */
  mode: number;
  modifiedAt: Date;
}

/** The mode bits that a sandbox may set. A setuid program would run as the user who downloads it. */
const PERMISSIONS = 0o777;

/** Writes below one folder. A path is a list of names, as {@link partsOf} returns it. */
export interface Extractor {
  /**
   * Creates a folder and its missing parents.
   *
   * @throws {@link ConflictError} if a file or a symlink (also to a folder) is in the place of one of these folders
   */
  folder(parts: string[]): Promise<void>;
  /** Writes a file atomically. Replaces an existing file, or an existing symlink (but not its target). */
  file(parts: string[], content: AsyncIterable<Uint8Array>, attributes: FileAttributes): Promise<void>;
  /** Creates a symlink. @throws {OutsideFolderError} if the symlink leads out of the folder, or may do so */
  link(parts: string[], linkname: string): Promise<void>;
  /**
   * Sets the attributes of a folder. Call this when all files in the folder are written: each write changes its time.
   */
  setAttributes(parts: string[], attributes: FileAttributes): Promise<void>;
}

/**
 * Splits the name of an entry into its parts.
 *
 * @throws {OutsideFolderError} if the name is absolute, contains "..", or has a special meaning on this system
 */
export function partsOf(name: string): string[] {
  const parts = name.split("/").filter((part) => part !== "" && part !== ".");
  const isForeign = sep === "\\" && /[\\:]/.test(name);
  if (name.startsWith("/") || parts.includes("..") || name.includes("\0") || isForeign) {
    throw new OutsideFolderError(`${JSON.stringify(name)} leads out of the folder`);
  }
  return parts;
}

/** Creates an extractor for an existing folder. @param top real path of the folder, without symlinks */
export function createExtractor(top: string): Extractor {
  const pathOf = (parts: string[]) => join(top, ...parts);
  const bytePathOf = (parts: string[]) => bytePath(pathOf(parts));
  // Paths that are real folders, not symlinks. They stay folders, because the extractor never replaces one.
  const realFolders = new Set([""]);
  const folder = async (parts: string[]) => {
    for (let depth = 1; depth <= parts.length; depth++) {
      const path = parts.slice(0, depth).join("/");
      if (realFolders.has(path)) continue;
      await makeRealFolder(pathOf(parts.slice(0, depth)));
      realFolders.add(path);
    }
  };
  return {
    folder,
    file: async (parts, content, attributes) => {
      await folder(parts.slice(0, -1));
      await writeWhole(pathOf(parts), content, attributes);
    },
    link: async (parts, linkname) => {
      checkLink(parts, linkname);
      await folder(parts.slice(0, -1));
      await putInPlace(pathOf(parts), (temporary) => symlink(bytePath(linkname), temporary));
    },
    setAttributes: async (parts, { mode, modifiedAt }) => {
      await utimes(bytePathOf(parts), modifiedAt, modifiedAt);
      await chmod(bytePathOf(parts), mode & PERMISSIONS);
    },
  };
}

/**
 * Allows ".." only at the beginning of a link. If a name before ".." is itself a symlink, ".." leads to the parent of
 * that symlink's target, which may be outside of the folder.
 */
function checkLink(parts: string[], linkname: string): void {
  const steps = linkname.split("/").filter((step) => step !== "" && step !== ".");
  const firstName = steps.findIndex((step) => step !== "..");
  const levelsUp = firstName === -1 ? steps.length : firstName;
  const isForeign = sep === "\\" && /[\\:]/.test(linkname);
  if (linkname.startsWith("/") || isForeign || levelsUp > parts.length - 1 || steps.slice(levelsUp).includes("..")) {
    throw new OutsideFolderError(`it leads out of the folder, to ${JSON.stringify(linkname)}`);
  }
}

async function makeRealFolder(path: string): Promise<void> {
  await mkdir(bytePath(path)).catch(async (error) => {
    if (error.code !== "EEXIST") throw error;
    if ((await lstat(bytePath(path))).isDirectory()) return;
    throw new ConflictError(`Cannot create folder ${JSON.stringify(path)}: a file or symlink with this name exists`);
  });
}

/** Writes a file atomically: writes a temporary file in the same folder, then renames it. */
export async function writeWhole(
  path: string,
  content: AsyncIterable<Uint8Array>,
  attributes: FileAttributes,
): Promise<void> {
  await putInPlace(path, async (temporary) => {
    const handle = await open(temporary, "wx", 0o600);
    try {
      for await (const chunk of content) await handle.writeFile(chunk);
      await handle.utimes(attributes.modifiedAt, attributes.modifiedAt);
      await handle.chmod(attributes.mode & PERMISSIONS);
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
    throw new ConflictError(`Cannot write ${JSON.stringify(path)}: a folder with this name exists`);
  }
}
