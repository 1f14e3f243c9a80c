/** Makes a folder and those above it. @module */
import { chmod, lstat } from "node:fs/promises";
import { bytePath } from "../../process/bytepaths.ts";
import { MissingError, type Root } from "../confine.ts";
import { withFolder } from "./folder.ts";
import { Refused } from "./refused.ts";

/**
 * Makes the folder `path` and those above it; one that is there already stays as it is.
 *
 * @param mode permission bits of a new folder; without, what the umask leaves
 * @returns whether it is new
 * @throws {OutsideError | InvalidPathError | Refused} CONFLICT: something else is there
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
    // Through the descriptor: the name may have been given to something else just now.
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
