/** Streams a folder or a file as a tar; symlinks go in as links, and those that lead out of the root stay out. @module */
import { lstat } from "node:fs/promises";
import { bytePath, entriesIn, type FSPath, readTarget } from "../../process/bytepaths.ts";
import { createTarWriter, type TarHeader, type TarWriter } from "../../process/tarwriter.ts";
import { codeOf, MissingError, OutsideError, type Root } from "../confine.ts";
import { type Folder, withFolder, withParent } from "./folder.ts";
import { openFile, readChunks } from "./read.ts";
import { TEMPORARY_PREFIX } from "./write.ts";

interface Packing {
  root: Root;
  tar: TarWriter;
}

/**
 * Packs what is at `path`; names in the tar are relative to it (a single file is under its own name). Packing keeps
 * pace with the consumer. Sockets, pipes and devices stay out. An error while packing ends the stream with it.
 *
 * @throws {OutsideError | MissingError | InvalidPathError} before the stream is given
 */
export async function packPath(root: Root, path: string): Promise<AsyncGenerator<Uint8Array>> {
  const { parts, path: real } = await root.locate(path);
  const isFolder = (await lstat(bytePath(real))).isDirectory();
  const tar = createTarWriter();
  const packing = { root, tar };
  const done = isFolder
    ? withFolder(root, { parts, wanted: path }, (folder) => packFolder(packing, folder, parts, ""))
    : withParent(root, path, {}, (folder, name = "") => packEntry(packing, folder, parts.slice(0, -1), name, ""));
  done.then(tar.end, tar.fail);
  return tar.chunks;
}

async function packFolder(packing: Packing, folder: Folder, parts: string[], prefix: string): Promise<void> {
  for await (const { name } of entriesIn(folder.here)) {
    if (packing.tar.isOver()) return;
    if (name.startsWith(TEMPORARY_PREFIX)) continue;
    try {
      await packEntry(packing, folder, parts, name, prefix);
    } catch (error) {
      // Gone meanwhile, or swapped for something else: as if it had not been listed.
      if (codeOf(error) !== "ENOENT" && !(error instanceof MissingError)) throw error;
    }
  }
}

async function packEntry(
  packing: Packing,
  folder: Folder,
  parts: string[],
  name: string,
  prefix: string,
): Promise<void> {
  const stats = await lstat(folder.at(name));
  const header = { name: prefix + name, mode: stats.mode & 0o777, mtime: stats.mtime };
  if (stats.isDirectory()) {
    await packing.tar.put({ ...header, name: `${header.name}/`, type: "directory" });
    await folder.within(name, (child) => packFolder(packing, child, [...parts, name], `${header.name}/`));
  } else if (stats.isSymbolicLink()) {
    if (!await leadsOut(packing.root, [...parts, name])) {
      await packing.tar.put({ ...header, type: "symlink", linkname: await readTarget(folder.at(name)), size: 0 });
    }
  } else if (stats.isFile()) {
    await packFile(packing, folder.at(name), header);
  }
}

async function leadsOut(root: Root, parts: string[]): Promise<boolean> {
  return await root.locate(parts.join("/"), { missing: "allow" })
    .then(() => false, (error) => error instanceof OutsideError);
}

async function packFile({ tar }: Packing, at: FSPath, header: TarHeader): Promise<void> {
  const { handle, stats } = await openFile(at, header.name);
  // From here on the generator closes the file, so it has to be begun.
  await tar.putFile({ ...header, size: stats.size }, padded(readChunks(handle, 0, stats.size), stats.size));
}

/** A file that gets shorter while it is packed is filled up with zeros, as GNU tar does: its size is in the tar. */
async function* padded(chunks: AsyncGenerator<Uint8Array>, size: number): AsyncGenerator<Uint8Array> {
  let left = size;
  try {
    for await (const chunk of chunks) {
      left -= chunk.length;
      yield chunk;
    }
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
  }
  for (; left > 0; left -= Math.min(left, ZEROS.length)) yield ZEROS.subarray(0, left);
}

const ZEROS = new Uint8Array(64 * 1024);
