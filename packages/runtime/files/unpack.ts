/** Unpacks a tar archive into a folder as it arrives; no entry can be written outside of the folder. @module */
import { randomBytes } from "node:crypto";
import { chmod, link, lstat, rename, symlink, unlink } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import type { Header } from "tar-stream";
import { bytePath, type FSPath } from "../../process/bytepaths.ts";
import { dateOf, extractNames, namesOf } from "../../process/tarheaders.ts";
import { codeOf, confinedTo, type Root } from "../confine.ts";
import { withFolder, withParent } from "./folder.ts";
import { makeFolder } from "./manage.ts";
import { Refused, refusedFor } from "./refused.ts";
import { TEMPORARY_PREFIX, writeWhole } from "./write.ts";

/** Options of unpacking. */
export interface UnpackOptions {
  /** Whether the archive is compressed with gzip. */
  gzip: boolean;
  /** Largest total size of all files, uncompressed, in bytes. */
  maxBytes?: number | undefined;
}

/** Numbers of unpacked entries and bytes. */
export interface Unpacked {
  files: number;
  directories: number;
  links: number;
  bytes: number;
}

/**
 * Unpacks `source` into the folder `path`, which is created if it does not exist. Each file is written atomically. An
 * invalid entry ends the unpacking; files that were written before stay. An existing symlink at the path of an entry is
 * replaced.
 *
 * @throws {OutsideError | InvalidPathError | Refused} PERMISSION_DENIED: the name of an entry is absolute or contains
 * `..`, or the entry is a symlink that leads out of a confined root; INVALID_ARGUMENT: the body is not a tar archive, or
 * contains a pipe or device
 */
export async function unpackInto(
  root: Root,
  path: string,
  source: AsyncIterable<Uint8Array>,
  options: UnpackOptions,
): Promise<Unpacked> {
  await makeFolder(root, path);
  const { parts, path: folder } = await root.locate(path);
  const unpacking: Unpacking = {
    // Otherwise an entry below a symlink, which another entry has made, would be written outside of the folder.
    root: root.isConfined ? root : confinedTo(folder),
    base: root.isConfined ? parts : [],
    anyTarget: !root.isConfined,
    left: options.maxBytes ?? Infinity,
    modes: [],
    done: { files: 0, directories: 0, links: 0, bytes: 0 },
  };
  const tar = extractNames();
  const reading = options.gzip ? pipeline(source, createGunzip(), tar) : pipeline(source, tar);
  reading.catch(() => {});
  try {
    for await (const entry of tar) {
      await unpackEntry(unpacking, entry);
      entry.resume();
    }
    await reading;
  } catch (error) {
    // tar-stream only reports that it was destroyed. The pipeline's error says what is wrong with the body.
    const cause = codeOf(error) === "STREAM_DESTROYED" ? await reading.then(() => error, (why) => why) : error;
    throw refusedFor(cause, path) ?? noTar(cause);
  }
  await setModes(unpacking);
  return unpacking.done;
}

type TarEntry = AsyncIterable<unknown> & { header: Header };

interface Unpacking {
  /** No entry is written outside of it. */
  root: Root;
  /** Names from the root to the target folder. */
  base: string[];
  /** Whether symlinks may lead anywhere. */
  anyTarget: boolean;
  /** Bytes that may still be written. */
  left: number;
  /** Modes of folders, which are set at the end: in a folder without write permission, no files can be created. */
  modes: { parts: string[]; mode: number }[];
  done: Unpacked;
}

async function unpackEntry(unpacking: Unpacking, entry: TarEntry): Promise<void> {
  const { root, done } = unpacking;
  const { type, mode } = entry.header;
  const { name, linkname } = namesOf(entry.header);
  const place = placeOf(unpacking.base, name);
  try {
    if (type === "directory") {
      await makeFolder(root, place);
      unpacking.modes.push({ parts: (await root.locate(place)).parts, mode: (mode ?? 0o755) & 0o777 });
      done.directories++;
    } else if (type === "file" || type === "contiguous-file") {
      const options = {
        mode: (mode ?? 0o644) & 0o777,
        maxBytes: unpacking.left,
        modifiedAt: dateOf(entry.header),
        followLast: false,
      };
      const bytes = await writeWhole(root, place, entry as AsyncIterable<Uint8Array>, options);
      unpacking.left -= bytes;
      done.bytes += bytes;
      done.files++;
    } else if (type === "symlink" || type === "link") {
      await (type === "symlink" ? makeSymlink : makeLink)(unpacking, place, linkname ?? "");
      done.links++;
    } else {
      throw new Refused("INVALID_ARGUMENT", `Cannot unpack "${name}": it is a ${type}`);
    }
  } catch (error) {
    throw refusedFor(error, name) ?? error;
  }
}

/** Returns the path of an entry inside the target folder. @throws {Refused} if the name leads out of it */
function placeOf(base: string[], name: string): string {
  const parts = name.split("/").filter((part) => part !== "" && part !== ".");
  if (name.startsWith("/") || parts.includes("..")) {
    throw new Refused("PERMISSION_DENIED", `Cannot unpack "${name}": the name leads out of the folder`);
  }
  return [...base, ...parts].join("/");
}

async function makeSymlink({ root, anyTarget }: Unpacking, place: string, target: string): Promise<void> {
  const options = { missing: "allow", followLast: false, make: true } as const;
  await withParent(root, place, options, async (folder, name = "", parts) => {
    // Throws if it leads out of the root. The target need not exist.
    const where = target.startsWith("/") ? target : [...parts.slice(0, -1), target].join("/");
    if (!anyTarget) await root.locate(where, { missing: "allow" });
    await replace(folder.at(name), folder.at(temporaryName()), (at) => symlink(bytePath(target), at));
  });
}

/** A hard link refers to another entry, so its target is searched in the same folder. */
async function makeLink({ root, base }: Unpacking, place: string, target: string): Promise<void> {
  await withParent(root, placeOf(base, target), { followLast: false }, async (from, oldName = "") => {
    if (!(await lstat(from.at(oldName))).isFile()) {
      throw new Refused("INVALID_ARGUMENT", `Cannot link to "${target}": it is not a file`);
    }
    const options = { missing: "allow", followLast: false, make: true } as const;
    await withParent(root, place, options, async (folder, name = "") => {
      await replace(folder.at(name), folder.at(temporaryName()), (at) => link(from.at(oldName), at));
    });
  });
}

function temporaryName(): string {
  return TEMPORARY_PREFIX + randomBytes(9).toString("base64url");
}

/** Creates a link under a temporary name, then renames it. An existing file is replaced, a folder is not. */
async function replace(at: FSPath, temporary: FSPath, make: (at: FSPath) => Promise<void>): Promise<void> {
  await make(temporary);
  try {
    await rename(temporary, at);
  } finally {
    // If both names are the same file, rename does nothing, and the temporary name remains.
    await unlink(temporary).catch(() => {});
  }
}

async function setModes({ root, modes }: Unpacking): Promise<void> {
  for (const { parts, mode } of modes.reverse()) {
    await withFolder(root, { parts, wanted: parts.join("/") }, (folder) => chmod(folder.here, mode));
  }
}

function noTar(error: unknown): unknown {
  const parser = error instanceof Error && /tar header|Invalid header|Unexpected end|exceeds max/.test(error.message);
  const compression = /^Z_/.test(codeOf(error) ?? "");
  return parser || compression
    ? new Refused("INVALID_ARGUMENT", "Cannot unpack: the body is a truncated or invalid tar")
    : error;
}
