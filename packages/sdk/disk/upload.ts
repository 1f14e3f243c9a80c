/** Uploads a file or folder of the local disk to a sandbox, as a stream of a tar archive. @module */
import * as z from "zod";
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { basename } from "node:path";
import { bytePath } from "../../process/bytepaths.ts";
import { createTarWriter, type TarWriter } from "../../process/tarwriter.ts";
import { InvalidArgumentError } from "../errors.ts";
import { endpointPath, folderOf, nameOf } from "../files/paths.ts";
import type { TransferOptions, Transferred } from "../files/transfer.ts";
import type { RuntimeClient } from "../runtime/runtimeclient.ts";
import { parsed } from "../runtime/call.ts";
import { streamOf } from "../runtime/streams.ts";
import { createTally, type Tally } from "./tally.ts";
import { type LocalEntry, walk } from "./walk.ts";

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
    const tally = createTally(onProgress, total);
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
  const tally = createTally(onProgress, stats.size);
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
  tally: Tally;
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

async function pack(tar: TarWriter, entries: AsyncGenerator<LocalEntry>, tally: Tally): Promise<void> {
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
