/** Converts entries of a sandbox's file system to the types of `node:fs`. @module */
import { type Entry, folderOf } from "./entry.ts";

/** What an entry is. All methods return false for devices, sockets and pipes. */
export interface FSKind {
  /** Returns whether the entry is a regular file. */
  isFile(): boolean;
  /** Returns whether the entry is a folder. */
  isDirectory(): boolean;
  /** Returns whether the entry is a symlink. */
  isSymbolicLink(): boolean;
}

/** The part of `fs.Stats` that the runtime reports. */
export interface FSStats extends FSKind {
  /** Size in bytes. */
  size: number;
  /** File type and permissions, as in `fs.Stats`. `mode & 0o777` has only the permissions. */
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

/** Converts an entry to the equivalent of `fs.Stats`. */
export function statsOf({ type, size, mode, modifiedAt }: Entry): FSStats {
  return {
    ...kindOf(type),
    size,
    mode: TYPE_BITS[type] | mode,
    mtime: modifiedAt,
    mtimeMs: modifiedAt.getTime(),
  };
}

/**
 * Converts an entry to the equivalent of `fs.Dirent`. @param folder path of the listed folder, as the caller wrote it
 */
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
