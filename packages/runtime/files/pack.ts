/** Streams a folder or file as a tar archive, which also lists the files that could not be added. @module */
import { lstat, opendir } from "node:fs/promises";
import { join } from "node:path";
import { bytePath, entriesIn, type FSPath, readTarget } from "../../process/bytepaths.ts";
import { createTarWriter, type TarHeader, type TarWriter } from "../../process/tarwriter.ts";
import { codeOf, MissingError, OutsideError, type Root } from "../confine.ts";
import { createKernelCheck, type Folder, isOfKernel, withFolder, withParent } from "./folder.ts";
import { openFile, partOf, sizeOf } from "./read.ts";
import { refusalReason, Refused } from "./refused.ts";
import { TEMPORARY_PREFIX } from "./write.ts";

interface Packing {
  root: Root;
  tar: TarWriter;
  isOfKernel: ReturnType<typeof createKernelCheck>;
}

/**
 * Packs the folder or file at `path`. Names in the archive are relative to the folder; a single file has its own name.
 * The archive is created only as fast as the consumer reads it. Sockets, pipes, devices, unreadable files, file systems of
 * the kernel, and symlinks that lead out of a confined root are left out, and listed in the archive. An error during packing ends the stream with that
 * error.
 *
 * @throws {OutsideError | MissingError | InvalidPathError | Refused} INVALID_ARGUMENT: the folder is in a file system of
 * the kernel; or an error of the system if `path` cannot be read, before
 * the stream is returned
 */
export async function packPath(root: Root, path: string): Promise<AsyncGenerator<Uint8Array>> {
  const { parts, path: real } = await root.locate(path);
  const stats = await lstat(bytePath(real));
  const isFolder = stats.isDirectory();
  // Checked before the archive begins: after that, an error could only interrupt the stream.
  if (isFolder) {
    await withFolder(root, { parts, wanted: path }, async ({ here }) => {
      if (!root.isConfined && await isOfKernel(here)) throw ofKernel(path);
      await (await opendir(here)).close();
    });
  } else if (stats.isFile()) await withParent(root, path, {}, (folder, name = "") => readable(folder.at(name), path));
  const tar = createTarWriter();
  const packing = { root, tar, isOfKernel: root.isConfined ? () => Promise.resolve(false) : createKernelCheck() };
  const done = isFolder
    ? withFolder(root, { parts, wanted: path }, (folder) => packFolder(packing, folder, parts, ""))
    : withParent(root, path, {}, (folder, name = "") => packEntry(packing, folder, parts.slice(0, -1), name, ""));
  done.then(tar.end, tar.fail);
  return tar.chunks;
}

function ofKernel(path: string): Refused {
  const message =
    `Cannot pack "${path}": it is in a file system of the kernel, whose files can be endless. Read one file.`;
  return new Refused("INVALID_ARGUMENT", message);
}

/** Throws if the file cannot be opened. @throws an error of the system */
async function readable(file: FSPath, path: string): Promise<void> {
  const { handle } = await openFile(file, path);
  await handle.close();
}

async function packFolder(packing: Packing, folder: Folder, parts: string[], prefix: string): Promise<void> {
  for await (const { name } of entriesIn(folder.here)) {
    if (packing.tar.isOver()) return;
    if (name.startsWith(TEMPORARY_PREFIX)) continue;
    try {
      await packEntry(packing, folder, parts, name, prefix);
    } catch (error) {
      // The file was deleted or replaced since it was listed, so it is left out silently.
      if (codeOf(error) === "ENOENT" || error instanceof MissingError) continue;
      await packing.tar.leaveOut({ path: prefix + name, reason: whyUnread(error) });
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
    if (await packing.isOfKernel(stats.dev, folder.at(name))) {
      return await packing.tar.leaveOut({ path: header.name, reason: "it is a file system of the kernel" });
    }
    await packing.tar.put({ ...header, name: `${header.name}/`, type: "directory" });
    await folder.within(name, (child) => packFolder(packing, child, [...parts, name], `${header.name}/`));
  } else if (stats.isSymbolicLink()) {
    if (await leadsOut(packing.root, [...parts, name])) {
      return await packing.tar.leaveOut({ path: header.name, reason: "it leads out of the root" });
    }
    await packing.tar.put({ ...header, type: "symlink", linkname: await readTarget(folder.at(name)), size: 0 });
  } else if (stats.isFile()) {
    await packFile(packing, folder.at(name), header);
  } else {
    await packing.tar.leaveOut({ path: header.name, reason: "it is a socket, pipe or device" });
  }
}

/** Returns why a file cannot be read. @throws errors that do not come from the file system */
function whyUnread(error: unknown): string {
  const reason = refusalReason(error);
  if (reason === undefined) throw error;
  return reason;
}

async function leadsOut(root: Root, parts: string[]): Promise<boolean> {
  return await root.locate(join(root.path, ...parts), { missing: "allow" })
    .then(() => false, (error) => error instanceof OutsideError);
}

async function packFile({ tar }: Packing, at: FSPath, header: TarHeader): Promise<void> {
  const file = await openFile(at, header.name);
  const size = sizeOf(file);
  const missing: { reason?: string } = {};
  // From here on, the generator closes the file, so it must be started.
  await tar.putFile({ ...header, size }, padded(partOf(file, 0, size), size, missing));
  if (missing.reason !== undefined) await tar.leaveOut({ path: header.name, reason: missing.reason });
}

/**
 * Fills a file that cannot be read to its end with zeros, as GNU tar does, because its size is already in the archive.
 */
async function* padded(
  chunks: AsyncGenerator<Uint8Array>,
  size: number,
  missing: { reason?: string },
): AsyncGenerator<Uint8Array> {
  let left = size;
  try {
    for await (const chunk of chunks) {
      left -= chunk.length;
      yield chunk;
    }
  } catch (error) {
    if (left === size && !(error instanceof RangeError)) throw error;
    const why = error instanceof RangeError ? "it became shorter while it was read" : whyUnread(error);
    missing.reason = `${why}: its last ${left} bytes are zeros`;
  }
  for (; left > 0; left -= Math.min(left, ZEROS.length)) yield ZEROS.subarray(0, left);
}

const ZEROS = new Uint8Array(64 * 1024);
