/** Entries of folders in the shape of `node:fs`. Pure. @module */
import type { Entry } from "./entry.ts";
import { folderOf } from "./paths.ts";

/** What kind of thing it is. */
export interface FSKind {
  /** A file that has content. */
  isFile(): boolean;
  /** A folder. */
  isDirectory(): boolean;
  /** A symlink itself. */
  isSymbolicLink(): boolean;
}

/** As much of `fs.Stats` as the runtime tells. */
export interface FSStats extends FSKind {
  /** Bytes. */
  size: number;
  /** Type and permission bits: `mode & 0o777` are the latter. */
  mode: number;
  mtime: Date;
  mtimeMs: number;
}

/** As `fs.Dirent`. */
export interface FSDirent extends FSKind {
  name: string;
  /** Path of the folder that it lies in. */
  parentPath: string;
}

const TYPE_BITS = { file: 0o100000, directory: 0o040000, symlink: 0o120000, other: 0 };

/** Makes stats of an entry. */
export function statsOf({ type, size, mode, modifiedAt }: Entry): FSStats {
  return {
    ...kindOf(type),
    size,
    mode: TYPE_BITS[type] | mode,
    mtime: modifiedAt,
    mtimeMs: modifiedAt.getTime(),
  };
}

/** Makes an entry of a folder. @param folder its path as it was given */
export function direntOf({ name, path, type }: Entry, folder: string): FSDirent {
  return { ...kindOf(type), name, parentPath: folderOf(path) || folder };
}

function kindOf(type: Entry["type"]): FSKind {
  return {
    isFile: () => type === "file",
    isDirectory: () => type === "directory",
    isSymbolicLink: () => type === "symlink",
  };
}
