/** Deletes files and folders; a symlink is deleted itself, never its target. @module */
import { lstat, rmdir, unlink } from "node:fs/promises";
import { entriesIn } from "../../process/bytepaths.ts";
import { codeOf, MissingError, type Root } from "../confine.ts";
import { type Folder, withParent } from "./folder.ts";
import { Refused } from "./refused.ts";

/**
 * Deletes the file or folder at `path`. For the root, only its content is deleted.
 *
 * @throws {OutsideError | MissingError | Refused} CONFLICT: the folder is not empty, and `recursive` is not set;
 * INVALID_ARGUMENT: it is the root, and `recursive` is not set
 */
export async function removePath(root: Root, path: string, recursive: boolean): Promise<void> {
  await withParent(root, path, { followLast: false }, async (folder, name) => {
    if (name === undefined) {
      if (!recursive) {
        throw new Refused("INVALID_ARGUMENT", "Cannot remove the root: only its contents can be, with recursive");
      }
      await empty(folder);
    } else if ((await lstat(folder.at(name))).isDirectory()) {
      await removeFolder(folder, name, recursive);
    } else {
      await unlink(folder.at(name));
    }
  });
}

async function removeFolder(parent: Folder, name: string, recursive: boolean): Promise<void> {
  if (recursive) await parent.within(name, empty);
  await rmdir(parent.at(name));
}

/** Deletes the content of a folder. Files that another process deletes at the same time are ignored. */
async function empty(folder: Folder): Promise<void> {
  for await (const entry of entriesIn(folder.here)) {
    try {
      if (entry.isDirectory) await removeFolder(folder, entry.name, true);
      else await unlink(folder.at(entry.name));
    } catch (error) {
      if (codeOf(error) !== "ENOENT" && !(error instanceof MissingError)) throw error;
    }
  }
}
