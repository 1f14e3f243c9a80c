/** Uploads a file or folder of the local disk to a sandbox, as a stream of a tar archive. @module */
import { createReadStream, type Stats } from "node:fs";
import { lstat, stat } from "node:fs/promises";
import { basename, isAbsolute, join, posix, sep } from "node:path";
import * as z from "zod";
import { bytePath, entriesIn, readTarget } from "../../process/bytepaths.ts";
import { createTarWriter, type TarWriter } from "../../process/tarwriter.ts";
import { InvalidArgumentError } from "../errors.ts";
import { endpointPath, folderOf, nameOf } from "../files/entry.ts";
import { createTransferCount, type TransferCount, type TransferOptions, type Transferred } from "../files/transfer.ts";
import { parsed } from "../runtime/call.ts";
import type { RuntimeClient } from "../runtime/runtimeclient.ts";
import { streamOf } from "../runtime/streams.ts";

/** Number of bytes to read from a file at once. */
const CHUNK_BYTES = 256 * 1024;

const answerSchema = z.object({ files: z.number(), directories: z.number(), links: z.number(), bytes: z.number() });

/** Uploads it. @throws as `Files.upload` */
export async function uploadPath(
  runtimeClient: RuntimeClient,
  localPath: string,
  remotePath: string,
  options: TransferOptions,
): Promise<Transferred> {
  const { signal, onProgress, filter } = options;
  signal?.throwIfAborted();
  const action = `upload to ${JSON.stringify(remotePath)}`;
  const stats = await stat(localPath);
  if (stats.isDirectory()) {
    const total = onProgress && await bytesBelow(localPath, filter);
    const tally = createTransferCount(onProgress, total);
    const entries = walk(localPath, { filter, onSkipped: tally.skip });
    return await send(runtimeClient, { entries, folder: remotePath, tally, signal, action });
  }
  if (!stats.isFile()) {
    throw new InvalidArgumentError(`Cannot upload ${JSON.stringify(localPath)}: it is neither a file nor a folder`);
  }
  // If the path ends with a slash, the file is put into that folder, under its own name.
  const isInto = nameOf(remotePath) === "" || remotePath.endsWith("/");
  const name = isInto ? basename(localPath) : nameOf(remotePath);
  const only: LocalEntry = { name, path: localPath, type: "file", stats };
  const folder = isInto ? remotePath : folderOf(remotePath);
  const tally = createTransferCount(onProgress, stats.size);
  return await send(runtimeClient, { entries: once(only), folder, tally, signal, action });
}

async function* once(entry: LocalEntry): AsyncGenerator<LocalEntry> {
  yield await Promise.resolve(entry);
}

async function bytesBelow(folder: string, filter: TransferOptions["filter"]): Promise<number> {
  let bytes = 0;
  for await (const { type, stats } of walk(folder, { filter, onSkipped: () => {} })) {
    if (type === "file") bytes += stats.size;
  }
  return bytes;
}

interface Sent {
  entries: AsyncGenerator<LocalEntry>;
  folder: string;
  tally: TransferCount;
  signal: AbortSignal | undefined;
  action: string;
}

async function send(
  runtimeClient: RuntimeClient,
  { entries, folder, tally, signal, action }: Sent,
): Promise<Transferred> {
  const tar = createTarWriter();
  let failure: unknown;
  const packing = pack(tar, entries, tally).then(tar.end, (error) => {
    // After the end of the archive, the error of `pack` is only a consequence: the request's error has the cause.
    if (!tar.isOver()) failure = error;
    tar.fail(error);
  });
  try {
    // Not repeated: a stream can be read only once.
    const answer = await runtimeClient.request(endpointPath("archive", folder), {
      method: "PUT",
      headers: { "Content-Type": "application/x-tar" },
      body: streamOf(tar.chunks),
      signal,
      action,
    });
    const { files, directories, links, bytes } = await parsed(answerSchema, answer, action, runtimeClient.object);
    return { files, directories, links, bytes, skipped: tally.done.skipped };
  } catch (error) {
    signal?.throwIfAborted();
    throw failure ?? error;
  } finally {
    tar.fail();
    await packing;
  }
}

async function pack(tar: TarWriter, entries: AsyncGenerator<LocalEntry>, tally: TransferCount): Promise<void> {
  for await (const { name, path, type, stats: { mode, mtime, size }, linkname = "" } of entries) {
    if (tar.isOver()) return;
    const header = { name, mode: mode & 0o777, mtime, type };
    if (type === "file") {
      await tar.putFile({ ...header, size }, tally.watch(contentOf(path, size)));
      tally.file();
    } else {
      await tar.put(type === "symlink" ? { ...header, linkname } : { ...header, name: `${name}/` });
    }
  }
}

/**
 * Reads a file whose size is already in the archive. If the file has grown since then, the rest is left out; if it has
 * shrunk, the upload fails.
 */
async function* contentOf(path: string, size: number): AsyncGenerator<Uint8Array> {
  let left = size;
  if (size > 0) {
    for await (const chunk of createReadStream(bytePath(path), { end: size - 1, highWaterMark: CHUNK_BYTES })) {
      left -= (chunk as Uint8Array).length;
      yield chunk as Uint8Array;
    }
  }
  if (left > 0) throw new InvalidArgumentError(`Cannot upload ${JSON.stringify(path)}: it shrank during the upload`);
}

/** A file, folder or symlink to upload. */
interface LocalEntry {
  /** Path relative to the folder, with slashes. */
  name: string;
  /** Path on this machine. Convert it with `bytePath` for `node:fs`. */
  path: string;
  type: "file" | "directory" | "symlink";
  stats: Stats;
  /** Only for symlinks: the path that it contains. */
  linkname?: string;
}

/** What to leave out. */
interface WalkOptions {
  filter?: TransferOptions["filter"];
  /** Called for entries that cannot be sent. */
  onSkipped(name: string, reason: string): void;
}

/** Yields all entries of the folder and its subfolders. Entries that are deleted during the walk are left out. */
async function* walk(folder: string, options: WalkOptions, prefix = ""): AsyncGenerator<LocalEntry> {
  for await (const { name: own } of entriesIn(bytePath(folder))) {
    const name = prefix + own;
    const entry = await describe(join(folder, own), name, options);
    if (!entry || options.filter?.(name, entry.type) === false) continue;
    yield entry;
    if (entry.type === "directory") yield* walk(entry.path, options, `${name}/`);
  }
}

async function describe(path: string, name: string, { onSkipped }: WalkOptions): Promise<LocalEntry | undefined> {
  const stats = await lstat(bytePath(path)).catch(nothingThere);
  if (!stats) return undefined;
  if (stats.isFile()) return { name, path, type: "file", stats };
  if (stats.isDirectory()) return { name, path, type: "directory", stats };
  if (!stats.isSymbolicLink()) return void onSkipped(name, "it is a socket, pipe or device");
  const linkname = (await readTarget(bytePath(path))).replaceAll(sep, "/");
  if (!leadsOut(name, linkname)) return { name, path, type: "symlink", stats, linkname };
  return void onSkipped(name, `it leads out of the folder, to ${JSON.stringify(linkname)}`);
}

function leadsOut(name: string, linkname: string): boolean {
  const to = posix.join(posix.dirname(name), linkname);
  return isAbsolute(linkname) || to === ".." || to.startsWith("../");
}

function nothingThere(error: unknown): undefined {
  if ((error as { code?: string }).code !== "ENOENT") throw error;
}
