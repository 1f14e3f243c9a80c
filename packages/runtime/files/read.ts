/** Opens a file for reading, without following a symlink at the last step, and streams a part of it. @module */
import { Buffer } from "node:buffer";
import { constants, type Stats } from "node:fs";
import { type FileHandle, lstat, open } from "node:fs/promises";
import type { FSPath } from "../../process/bytepaths.ts";
import { createByteBuffer } from "../../process/bytebuffer.ts";
import type { Root } from "../confine.ts";
import { withParent } from "./folder.ts";
import { Refused } from "./refused.ts";

/** A file that is open for reading. The caller must close the handle. */
export interface OpenFile {
  stats: Stats;
  handle: FileHandle;
  /** The whole content of a file whose size may be wrong. Undefined: the size is right. */
  content: Uint8Array | undefined;
}

/** A file that is open for reading, or a folder, which is not opened. */
export type Opened = OpenFile | { stats: Stats; handle?: undefined };

/** Number of bytes to read at once. */
const CHUNK_BYTES = 128 * 1024;

/**
 * Opens the file or folder at `path`.
 *
 * @throws {OutsideError | MissingError | InvalidPathError | Refused} pipes, sockets and devices are refused, because
 * reading them may never end
 */
export async function openForRead(root: Root, path: string): Promise<Opened> {
  return await withParent(root, path, {}, async (folder, name) => {
    if (name === undefined) return { stats: await lstat(root.path) };
    const stats = await lstat(folder.at(name));
    if (stats.isDirectory()) return { stats };
    if (!stats.isFile()) throw notAFile(path);
    return await openFile(folder.at(name), path);
  });
}

/** Opens the file `at`. Its folder must be kept open. */
export async function openFile(at: FSPath, wanted: string): Promise<OpenFile> {
  // O_NONBLOCK: if a pipe has just replaced the file, opening it would wait for a writer.
  const handle = await open(at, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const stats = await handle.stat();
    if (!stats.isFile()) throw notAFile(wanted);
    return { stats, handle, content: isGenerated(stats) ? await readGenerated(handle, wanted) : undefined };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** The largest memory page of any kernel. Files of /sys have the size of a page. */
const PAGE_BYTES = 64 * 1024;
/** Size of the first read, because most of these files are short. */
const FIRST_BYTES = 4 * 1024;
/** Largest content of a file whose size is not known. */
const MAX_GENERATED_BYTES = 16 * 1024 * 1024;

/**
 * Returns whether the kernel may generate the content when it is read, as in /proc and /sys. The size is then 0 or one
 * page.
 */
function isGenerated({ size, blocks }: Stats): boolean {
  return size === 0 || (blocks === 0 && size <= PAGE_BYTES);
}

async function readGenerated(handle: FileHandle, wanted: string): Promise<Uint8Array> {
  const gathered = createByteBuffer();
  for (let at = 0;;) {
    const chunk = Buffer.allocUnsafe(at === 0 ? FIRST_BYTES : CHUNK_BYTES);
    const { bytesRead } = await handle.read(chunk, 0, chunk.length, at);
    if (bytesRead === 0) return gathered.take();
    gathered.add(chunk.subarray(0, bytesRead));
    at += bytesRead;
    if (at > MAX_GENERATED_BYTES) {
      throw new Refused(
        "RESOURCE_EXHAUSTED",
        `Cannot read "${wanted}": it does not say how long it is, and is too long`,
      );
    }
  }
}

/** Streams bytes of an open file from `start`, as {@link readChunks}. */
export async function* partOf(
  { handle, content }: OpenFile,
  start: number,
  length: number,
): AsyncGenerator<Uint8Array> {
  if (!content) return yield* readChunks(handle, start, length);
  await handle.close();
  if (length > 0) yield content.subarray(start, start + length);
}

/** Returns the number of bytes in an open file. */
export function sizeOf({ stats, content }: OpenFile): number {
  return content?.length ?? stats.size;
}

function notAFile(wanted: string): Refused {
  return new Refused("PERMISSION_DENIED", `Cannot read "${wanted}": it is neither a file nor a folder`);
}

/**
 * Reads `length` bytes from `start`, one chunk each time the consumer asks. Closes the handle at the end.
 *
 * @throws {RangeError} during the stream, if the file became shorter
 */
export async function* readChunks(handle: FileHandle, start: number, length: number): AsyncGenerator<Uint8Array> {
  try {
    for (let done = 0; done < length;) {
      const chunk = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, length - done));
      const { bytesRead } = await handle.read(chunk, 0, chunk.length, start + done);
      if (bytesRead === 0) throw new RangeError("Cannot read on: the file has become shorter");
      done += bytesRead;
      yield chunk.subarray(0, bytesRead);
    }
  } finally {
    await handle.close();
  }
}

/**
 * Converts chunks to a web stream that requests the next chunk only when there is room. Cancelling it ends the source.
 */
export function streamOf(chunks: AsyncGenerator<Uint8Array>): ReadableStream<Uint8Array> {
  let begun = false;
  return new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      begun = true;
      const { done, value } = await chunks.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: async () => {
      // A generator that has not started ends without its `finally`, and would leave its files open.
      if (!begun) await chunks.next().catch(() => {});
      await chunks.return(undefined);
    },
  }, { highWaterMark: 0 });
}
