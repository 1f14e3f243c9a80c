/** Creates a folder and its missing parents. @module */
import { chmod, lstat } from "node:fs/promises";
import { bytePath } from "../../process/bytepaths.ts";
import { MissingError, type Root } from "../confine.ts";
import { withFolder } from "./folder.ts";
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
    throw occupied(error, path);
  });
  if (exists) {
    if ((await lstat(bytePath(real))).isDirectory()) return false;
    throw occupied(new MissingError(), path);
  }
  await withFolder(root, { parts, wanted: path, make: true }, async (folder) => {
    // By the descriptor, because the name may now belong to another file.
    if (mode !== undefined) await chmod(folder.here, mode);
  }).catch((error) => {
    throw occupied(error, path);
  });
  return true;
}

function occupied(error: unknown, path: string): unknown {
  if (!(error instanceof MissingError)) return error;
  return new Refused("CONFLICT", `Cannot make folder "${path}": something that is not a folder is in the way`);
}
