/** Puts files, folders and links below one folder of the caller's disk; nothing that it is told leads out of there. @module */
import { randomUUID } from "node:crypto";
import { chmod, lstat, mkdir, open, rename, symlink, unlink, utimes } from "node:fs/promises";
import { join, sep } from "node:path";
import { bytePath, type FSPath } from "../../process/bytepaths.ts";
import { ConflictError } from "../errors.ts";

/** A name or a link that would lead out of the folder. */
export class LeadsOutError extends Error {
  override name = "LeadsOutError";
}

/** What a file is to be like. */
export interface Dress {
  /** Permission bits. Other bits, such as setuid, are ignored. */
  mode: number;
  modifiedAt: Date;
}

/** The bits of a mode that a sandbox may choose. A setuid program would run as the user who downloads it. */
const PERMISSIONS = 0o777;

/** A folder to put things below. Paths are parts, from {@link partsOf}. */
export interface Extractor {
  /** Makes a folder and those above it. @throws {@link ConflictError} if one of them is something else, were it a symlink to a folder */
  folder(parts: string[]): Promise<void>;
  /** Writes a file whole or not at all; what is there is replaced, a symlink itself. */
  file(parts: string[], content: AsyncIterable<Uint8Array>, dress: Dress): Promise<void>;
  /** Makes a symlink. @throws {LeadsOutError} if it leads out of the folder, or might */
  link(parts: string[], linkname: string): Promise<void>;
  /** Sets modes and times of a folder, after everything in it is written. */
  dress(parts: string[], dress: Dress): Promise<void>;
}

/** Takes the name of an entry apart. @throws {LeadsOutError} if it is absolute, has "..", or what this system takes for such */
export function partsOf(name: string): string[] {
  const parts = name.split("/").filter((part) => part !== "" && part !== ".");
  const isForeign = sep === "\\" && /[\\:]/.test(name);
  if (name.startsWith("/") || parts.includes("..") || name.includes("\0") || isForeign) {
    throw new LeadsOutError(`${JSON.stringify(name)} leads out of the folder`);
  }
  return parts;
}

/** Makes an extractor to a folder that is there. @param top its real path, without symlinks */
export function createExtractor(top: string): Extractor {
  const at = (parts: string[]) => join(top, ...parts);
  const place = (parts: string[]) => bytePath(at(parts));
  // Folders that were seen to be real ones: nothing here ever replaces a folder.
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
 * Only "..", "..", then names: a ".." behind a name that is a symlink itself goes up from where that one leads, which may
 * be higher up than it looks.
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

/** Writes a temporary file in the same folder, and then renames it. */
export async function writeWhole(path: string, content: AsyncIterable<Uint8Array>, dress: Dress): Promise<void> {
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
