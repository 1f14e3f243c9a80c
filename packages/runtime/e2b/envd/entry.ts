/** Describes files as E2B's clients expect them. @module */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { constants, readFileSync, type Stats } from "node:fs";
import { lstat, stat } from "node:fs/promises";
import { basename } from "node:path";
import { bytePath, type FSPath } from "../../../process/bytepaths.ts";
import { type EntryInfoSchema, FileType } from "../../../runtime-api/gen/e2b/filesystem_pb.ts";
import { codeOf, type Root } from "../../confine.ts";
import { withParent } from "../../files/folder.ts";
import { modifiedOf } from "../../files/list.ts";
import { metadataOf } from "./metadata.ts";
import { shownPath } from "./paths.ts";

/** A file, for clients. */
export type Entry = MessageInitShape<typeof EntryInfoSchema>;

/** Names of users and groups by number. Read once for each request. */
export interface Names {
  user(uid: number): string;
  group(gid: number): string;
}

/** Reads the names that the image has. */
export function readNames(): Names {
  const tables = ["/etc/passwd", "/etc/group"].map((file) => {
    const table = new Map<string, string>();
    for (const line of linesOf(file)) {
      const [name = "", , id = ""] = line.split(":");
      if (!table.has(id)) table.set(id, name);
    }
    return (id: number) => table.get(String(id)) ?? String(id);
  });
  const [user, group] = tables as [Names["user"], Names["group"]];
  return { user, group };
}

function linesOf(file: string): string[] {
  try {
    return readFileSync(file, "utf8").split("\n");
  } catch {
    return [];
  }
}

/**
 * Describes what exists at a path. A symlink at the last step is described with the type and mode of its target.
 *
 * @param path absolute
 * @throws {OutsideError | MissingError | InvalidPathError}
 */
export async function describeEntry(root: Root, path: string, names = readNames()): Promise<Entry> {
  return await withParent(root, path, { followLast: false }, async (folder, name) => {
    const at = name === undefined ? root.path : folder.at(name);
    return await entryOf(root, { path: shownPath(path), at }, await lstat(at), names);
  });
}

/** Describes a file whose state has been read. @param place its path, as it is shown and as it can be opened */
export async function entryOf(
  root: Root,
  { path, at }: { path: string; at: FSPath },
  stats: Stats,
  names: Names,
): Promise<Entry> {
  const link = stats.isSymbolicLink() ? await followed(root, path) : undefined;
  const target = link ? link.stats : stats;
  return {
    name: basename(path).toWellFormed() || "/",
    type: typeOf(target),
    path: path.toWellFormed(),
    size: BigInt(stats.size),
    mode: (target ?? stats).mode & 0o777,
    permissions: permissionsOf(stats.mode),
    owner: names.user(stats.uid),
    group: names.group(stats.gid),
    modifiedTime: timestampFromDate(modifiedOf(stats)),
    metadata: metadataOf(at),
    ...link ? { symlinkTarget: link.path.toWellFormed(), isSymlink: true } : {},
  };
}

/** Returns where a symlink leads. A symlink that leads out of a confined root, or in a circle, leads nowhere. */
async function followed(root: Root, path: string): Promise<{ path: string; stats: Stats | undefined }> {
  try {
    const { path: target, exists } = await root.locate(path, { missing: "allow" });
    const stats = exists ? await stat(bytePath(target)).catch(() => undefined) : undefined;
    return { path: target, stats };
  } catch (error) {
    if (error instanceof Error && (codeOf(error) === undefined || codeOf(error) === "EACCES")) {
      return { path, stats: undefined };
    }
    throw error;
  }
}

function typeOf(stats: Stats | undefined): FileType {
  if (stats?.isFile()) return FileType.FILE;
  return stats?.isDirectory() ? FileType.DIRECTORY : FileType.UNSPECIFIED;
}

/** Letters of the kinds and special bits of a file, in the order in which Go's `fs.FileMode` prints them. */
const KINDS: [string, (mode: number) => boolean][] = [
  ["d", (mode) => isKind(mode, constants.S_IFDIR)],
  ["L", (mode) => isKind(mode, constants.S_IFLNK)],
  ["D", (mode) => isKind(mode, constants.S_IFBLK) || isKind(mode, constants.S_IFCHR)],
  ["p", (mode) => isKind(mode, constants.S_IFIFO)],
  ["S", (mode) => isKind(mode, constants.S_IFSOCK)],
  ["u", (mode) => (mode & 0o4000) !== 0],
  ["g", (mode) => (mode & 0o2000) !== 0],
  ["c", (mode) => isKind(mode, constants.S_IFCHR)],
  ["t", (mode) => (mode & 0o1000) !== 0],
];

function isKind(mode: number, kind: number): boolean {
  return (mode & constants.S_IFMT) === kind;
}

/** Prints a mode as Go does: `-rw-r--r--`, `drwxr-xr-x`, `Lrwxrwxrwx`, `dtrwxrwxrwx`. */
function permissionsOf(mode: number): string {
  const kinds = KINDS.filter(([, holds]) => holds(mode)).map(([letter]) => letter).join("");
  const bits = Array.from("rwxrwxrwx", (letter, index) => (mode & (1 << (8 - index))) === 0 ? "-" : letter);
  return `${kinds || "-"}${bits.join("")}`;
}
