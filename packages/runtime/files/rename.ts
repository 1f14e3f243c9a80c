/** Moves a file or folder within the root; a symlink is moved itself. @module */
import { lstat, rename } from "node:fs/promises";
import type { FSPath } from "../../process/bytepaths.ts";
import { codeOf, MissingError, type Root } from "../confine.ts";
import { withParent } from "./folder.ts";
import { Refused } from "./refused.ts";

/**
 * Moves `from` to `to`, and creates missing parent folders of `to`.
 *
 * @param replace whether an existing file at `to` is replaced atomically; a folder is replaced only if it is empty
 * @throws {OutsideError | MissingError | Refused} CONFLICT: something exists at `to`; INVALID_ARGUMENT: one of them is
 * the root, or `to` is inside `from`
 */
export async function renamePath(root: Root, from: string, to: string, replace: boolean): Promise<void> {
  await withParent(root, from, { followLast: false }, async (source, oldName) => {
    if (oldName === undefined) throw new Refused("INVALID_ARGUMENT", "Cannot move the root");
    const options = { missing: "allow", followLast: false, make: true } as const;
    await withParent(root, to, options, async (target, newName) => {
      if (newName === undefined) throw new Refused("INVALID_ARGUMENT", "Cannot replace the root");
      if (!replace && await isThere(target.at(newName))) {
        throw new Refused("CONFLICT", `Cannot move to "${to}": something is there already`);
      }
      await rename(source.at(oldName), target.at(newName)).catch((error) => {
        throw whyNot(error, from, to);
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

function whyNot(error: unknown, from: string, to: string): unknown {
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
