/**
 * Creates folders, moves and deletes files, and reads how full the disk is; a symlink is changed itself, never its
 * target.
 * @module
 */
import { chmod, lstat, rename, rmdir, statfs, unlink } from "node:fs/promises";
import { join } from "node:path";
import { bytePath, entriesIn, type FSPath } from "../../process/bytepaths.ts";
import { codeOf, MissingError, type Root } from "../confine.ts";
import { type Folder, withFolder, withParent } from "./folder.ts";
import { Refused } from "./refused.ts";

/**
 * Creates the folder `path` and its missing parents. An existing folder does not change.
 *
 * @param mode permission bits of a new folder; absent: those that the umask leaves
 * @returns whether the folder is new
 * @throws {OutsideError | InvalidPathError | Refused} CONFLICT: something else exists at the path
 */
export async function makeFolder(root: Root, path: string, mode?: number): Promise<boolean> {
  const { parts, exists, path: real } = await root.locate(path, { missing: "allow" }).catch((error) => {
    throw occupiedError(error, path);
  });
  if (exists) {
    if ((await lstat(bytePath(real))).isDirectory()) return false;
    throw occupiedError(new MissingError(), path);
  }
  await withFolder(root, { parts, wanted: path, make: true }, async (folder) => {
    // By the descriptor, because the name may now belong to another file.
    if (mode !== undefined) await chmod(folder.here, mode);
  }).catch((error) => {
    throw occupiedError(error, path);
  });
  return true;
}

function occupiedError(error: unknown, path: string): unknown {
  if (!(error instanceof MissingError)) return error;
  return new Refused("CONFLICT", `Cannot make folder "${path}": something that is not a folder is in the way`);
}

/**
 * Moves `from` to `to`, and creates missing parent folders of `to`.
 *
 * @param replace whether an existing file at `to` is replaced atomically; a folder is replaced only if it is empty
 * @throws {OutsideError | MissingError | Refused} CONFLICT: something exists at `to`; INVALID_ARGUMENT: one of them is
 * the root, or `to` is inside `from`
 */
export async function renamePath(root: Root, from: string, to: string, replace: boolean): Promise<void> {
  await withParent(root, from, { followLast: false }, async (source, oldName, oldParts) => {
    if (oldName === undefined) throw new Refused("INVALID_ARGUMENT", "Cannot move the root");
    if (isWorkdir(root, oldParts)) throw new Refused("INVALID_ARGUMENT", "Cannot move the working directory");
    const options = { missing: "allow", followLast: false, make: true } as const;
    await withParent(root, to, options, async (target, newName) => {
      if (newName === undefined) throw new Refused("INVALID_ARGUMENT", "Cannot replace the root");
      if (!replace && await isThere(target.at(newName))) {
        throw new Refused("CONFLICT", `Cannot move to "${to}": something is there already`);
      }
      await rename(source.at(oldName), target.at(newName)).catch((error) => {
        throw renameRefusal(error, from, to);
      });
    }).catch((error) => {
      if (!(error instanceof MissingError)) throw error;
      throw new Refused("INVALID_ARGUMENT", `Cannot move to "${to}": its parent is not a folder`);
    });
  });
}

async function isThere(at: FSPath): Promise<boolean> {
  return await lstat(at).then(() => true, () => false);
}

function renameRefusal(error: unknown, from: string, to: string): unknown {
  switch (codeOf(error)) {
    case "ENOENT":
      return new Refused("NOT_FOUND", `Cannot move "${from}": nothing is there`);
    case "EINVAL":
      return new Refused("INVALID_ARGUMENT", `Cannot move "${from}" to "${to}": that is within itself`);
    case "EISDIR":
    case "ENOTDIR":
      return new Refused("CONFLICT", `Cannot move "${from}" to "${to}": one is a folder, the other is not`);
    default:
      return error;
  }
}

/**
 * Deletes the file or folder at `path`. For a confined root and for the working directory, only the content is deleted.
 *
 * @throws {OutsideError | MissingError | Refused} CONFLICT: the folder is not empty, and `recursive` is not set;
 * INVALID_ARGUMENT: it is the root or the working directory, and `recursive` is not set; or it is `/`
 */
export async function removePath(root: Root, path: string, recursive: boolean): Promise<void> {
  await withParent(root, path, { followLast: false }, async (folder, name, parts) => {
    if (name === undefined) {
      if (!root.isConfined) throw new Refused("INVALID_ARGUMENT", "Cannot remove /");
      if (!recursive) throw onlyContents("root");
      await emptyFolder(folder);
    } else if (isWorkdir(root, parts)) {
      if (!recursive) throw onlyContents("working directory");
      await folder.within(name, emptyFolder);
    } else if ((await lstat(folder.at(name))).isDirectory()) {
      await removeFolder(folder, name, recursive);
    } else {
      await unlink(folder.at(name));
    }
  });
}

function onlyContents(what: string): Refused {
  return new Refused("INVALID_ARGUMENT", `Cannot remove the ${what}: only its contents can be, with recursive`);
}

function isWorkdir({ path, workdir }: Root, parts: string[]): boolean {
  return join(path, ...parts) === workdir;
}

async function removeFolder(parent: Folder, name: string, recursive: boolean): Promise<void> {
  if (recursive) await parent.within(name, emptyFolder);
  await rmdir(parent.at(name));
}

/** Deletes the content of a folder. Files that another process deletes at the same time are ignored. */
async function emptyFolder(folder: Folder): Promise<void> {
  for await (const entry of entriesIn(folder.here)) {
    try {
      if (entry.isDirectory) await removeFolder(folder, entry.name, true);
      else await unlink(folder.at(entry.name));
    } catch (error) {
      if (codeOf(error) !== "ENOENT" && !(error instanceof MissingError)) throw error;
    }
  }
}

/** Bytes and files of the file system that contains the working directory. */
interface DiskMetrics {
  total_bytes: number;
  used_bytes: number;
  /** Bytes available to the runtime's user. Less than total - used if the system keeps a reserve. */
  available_bytes: number;
  total_files: number;
  free_files: number;
}

/** Reads the numbers from the file system. @throws in Deno without `--allow-sys=statfs` */
export async function readDisk(root: Root): Promise<DiskMetrics> {
  const { bsize, blocks, bfree, bavail, files, ffree } = await statfs(root.workdir);
  return {
    total_bytes: blocks * bsize,
    used_bytes: (blocks - bfree) * bsize,
    available_bytes: bavail * bsize,
    total_files: files,
    free_files: ffree,
  };
}
