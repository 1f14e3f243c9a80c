/** Converts entries to the types of `node:fs`. @module */
import { type Entry, folderOf } from "./entry.ts";

/** Whether an entry is a file, a folder or a symlink. */
export interface FSKind {
  /** Returns whether it is a regular file. */
  isFile(): boolean;
  /** Returns whether it is a folder. */
  isDirectory(): boolean;
  /** Returns whether it is a symlink. */
  isSymbolicLink(): boolean;
}

/** The part of `fs.Stats` that the runtime reports. */
export interface FSStats extends FSKind {
  /** Size in bytes. */
  size: number;
  /** Type and permission bits. `mode & 0o777` has only the permission bits. */
  mode: number;
  mtime: Date;
  mtimeMs: number;
}

/** An entry of a folder, as `fs.Dirent`. */
export interface FSDirent extends FSKind {
  name: string;
  /** Path of the folder that contains the entry. */
  parentPath: string;
}

const TYPE_BITS = { file: 0o100000, directory: 0o040000, symlink: 0o120000, other: 0 };

/** Converts an entry to stats. */
export function statsOf({ type, size, mode, modifiedAt }: Entry): FSStats {
  return {
    ...kindOf(type),
    size,
    mode: TYPE_BITS[type] | mode,
    mtime: modifiedAt,
    mtimeMs: modifiedAt.getTime(),
  };
}

/** Converts an entry to a directory entry. @param folder path of the listed folder, as the caller wrote it */
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
