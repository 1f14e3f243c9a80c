/** Streams a folder or a file as a tar; symlinks go in as links, and those that lead out of the root stay out. @module */
import { once } from "node:events";
import { lstat, opendir, readlink } from "node:fs/promises";
import { type Header, type Pack, pack } from "tar-stream";
import { codeOf, MissingError, OutsideError, type Root } from "../confine.ts";
import { type Folder, withFolder, withParent } from "./folder.ts";
import { openFile, readChunks } from "./read.ts";
import { TEMPORARY_PREFIX } from "./write.ts";

/** Bytes that may wait for the consumer before packing pauses. */
const MOST_WAITING_BYTES = 1024 * 1024;

type EntryHeader = Partial<Header> & { name: string };

interface Packing {
  root: Root;
  tar: Pack;
  /** Resolves once few enough bytes wait for the consumer. */
  room(): Promise<void>;
}

/**
 * Packs what is at `path`; names in the tar are relative to it (a single file is under its own name). Packing keeps
 * pace with the consumer. Sockets, pipes and devices stay out. An error while packing ends the stream with it.
 *
 * @throws {OutsideError | MissingError | InvalidPathError} before the stream is given
 */
export async function packPath(root: Root, path: string): Promise<AsyncGenerator<Uint8Array>> {
  const { parts, path: real } = await root.locate(path);
  const isFolder = (await lstat(real)).isDirectory();
  const tar = pack();
  const { room, chunks } = pace(tar);
  const packing = { root, tar, room };
  const done = isFolder
    ? withFolder(root, { parts, wanted: path }, (folder) => packFolder(packing, folder, parts, ""))
    : withParent(root, path, {}, (folder, name = "") => packEntry(packing, folder, parts.slice(0, -1), name, ""));
  done.then(() => tar.finalize(), (error) => tar.destroy(error));
  return chunks;
}

/** tar-stream waits for its reader within a file only: a million empty files would all wait in memory. */
function pace(tar: Pack): { room(): Promise<void>; chunks: AsyncGenerator<Uint8Array> } {
  let waiting = 0;
  let onRoom = () => {};
  const push = tar.push.bind(tar);
  tar.push = (chunk: Uint8Array | null) => {
    waiting += chunk?.length ?? 0;
    return push(chunk);
  };
  async function* take(): AsyncGenerator<Uint8Array> {
    try {
      for await (const chunk of tar as AsyncIterable<Uint8Array>) {
        waiting -= chunk.length;
        if (waiting < MOST_WAITING_BYTES) onRoom();
        yield chunk;
      }
    } finally {
      tar.destroy();
      onRoom();
    }
  }
  const room = () =>
    new Promise<void>((resolve) => waiting < MOST_WAITING_BYTES || tar.destroyed ? resolve() : onRoom = resolve);
  return { room, chunks: take() };
}

async function packFolder(packing: Packing, folder: Folder, parts: string[], prefix: string): Promise<void> {
  for await (const { name } of await opendir(folder.here)) {
    if (packing.tar.destroyed) return;
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
    await put(packing, { ...header, name: `${header.name}/`, type: "directory" });
    await folder.within(name, (child) => packFolder(packing, child, [...parts, name], `${header.name}/`));
  } else if (stats.isSymbolicLink()) {
    if (!await leadsOut(packing.root, [...parts, name])) {
      await put(packing, { ...header, type: "symlink", linkname: await readlink(folder.at(name)), size: 0 });
    }
  } else if (stats.isFile()) {
    await packFile(packing, folder.at(name), header);
  }
}

async function leadsOut(root: Root, parts: string[]): Promise<boolean> {
  return await root.locate(parts.join("/"), { missing: "allow" })
    .then(() => false, (error) => error instanceof OutsideError);
}

async function put({ tar, room }: Packing, header: EntryHeader): Promise<void> {
  await room();
  await new Promise<void>((resolve, reject) => {
    tar.entry(header, (error) => error ? reject(error) : resolve());
  });
}

async function packFile(packing: Packing, at: string, header: EntryHeader): Promise<void> {
  await packing.room();
  const { handle, stats } = await openFile(at, header.name);
  // From here on the generator closes the file, so it has to be begun.
  const chunks = padded(readChunks(handle, 0, stats.size), stats.size);
  const done = Promise.withResolvers<void>();
  done.promise.catch(() => {});
  let entry: Sink | undefined;
  for await (const chunk of chunks) {
    entry ??= openEntry(packing.tar, { ...header, type: "file", size: stats.size }, done);
    if (!entry.write(chunk)) await Promise.race([once(entry, "drain"), done.promise]);
  }
  entry ??= openEntry(packing.tar, { ...header, type: "file", size: 0 }, done);
  entry.end(null);
  await done.promise;
}

type Sink = ReturnType<Pack["entry"]>;

function openEntry(tar: Pack, header: EntryHeader, done: PromiseWithResolvers<void>): Sink {
  return tar.entry(header, (error) => error ? done.reject(error) : done.resolve());
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
