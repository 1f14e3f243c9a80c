/** Opens a file for reading and streams a part of it; never follows a symlink at the last step. @module */
import { Buffer } from "node:buffer";
import { constants, type Stats } from "node:fs";
import { type FileHandle, lstat, open } from "node:fs/promises";
import type { FSPath } from "../../process/bytepaths.ts";
import { createGathered } from "../../process/gathered.ts";
import type { Root } from "../confine.ts";
import { withParent } from "./folder.ts";
import { Refused } from "./refused.ts";

/** A file that is open for reading. The caller must close the handle. */
export interface OpenFile {
  stats: Stats;
  handle: FileHandle;
  /** All that is in it, of a file that may have more or less than its size says. Undefined: the size is right. */
  content: Uint8Array | undefined;
}

/** A file that is open for reading, or a folder, which is not opened. */
export type Opened = OpenFile | { stats: Stats; handle?: undefined };

/** Bytes read at once. */
const CHUNK_BYTES = 128 * 1024;

/**
 * Opens what is at `path`.
 *
 * @throws {OutsideError | MissingError | InvalidPathError | Refused} a pipe, socket or device is refused: a read may
 * never end
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

/** Opens the file `name` of a folder that is held open. */
export async function openFile(at: FSPath, wanted: string): Promise<OpenFile> {
  // O_NONBLOCK: if a pipe took the file's place just now, opening it would wait for a writer.
  const handle = await open(at, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const stats = await handle.stat();
    if (!stats.isFile()) throw notAFile(wanted);
    return { stats, handle, content: isMadeUp(stats) ? await contentOf(handle, wanted) : undefined };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** The largest page of memory that a kernel has: files of /sys say that they have one. */
const PAGE_BYTES = 64 * 1024;
/** Read first of what is mostly empty. */
const FIRST_BYTES = 4 * 1024;
/** Most bytes of a file whose size says nothing. */
const MOST_MADE_UP_BYTES = 16 * 1024 * 1024;

/** Whether the kernel may make the content up when it is read, as in /proc and /sys: the size is then 0, or a page. */
function isMadeUp({ size, blocks }: Stats): boolean {
  return size === 0 || (blocks === 0 && size <= PAGE_BYTES);
}

async function contentOf(handle: FileHandle, wanted: string): Promise<Uint8Array> {
  const gathered = createGathered();
  for (let at = 0;;) {
    const chunk = Buffer.allocUnsafe(at === 0 ? FIRST_BYTES : CHUNK_BYTES);
    const { bytesRead } = await handle.read(chunk, 0, chunk.length, at);
    if (bytesRead === 0) return gathered.take();
    gathered.add(chunk.subarray(0, bytesRead));
    at += bytesRead;
    if (at > MOST_MADE_UP_BYTES) {
      throw new Refused(
        "RESOURCE_EXHAUSTED",
        `Cannot read "${wanted}": it does not say how long it is, and is too long`,
      );
    }
  }
}

/** Streams the bytes from `start` on, as {@link readChunks}, of an open file. */
export async function* partOf(
  { handle, content }: OpenFile,
  start: number,
  length: number,
): AsyncGenerator<Uint8Array> {
  if (!content) return yield* readChunks(handle, start, length);
  await handle.close();
  if (length > 0) yield content.subarray(start, start + length);
}

/** Returns how many bytes are in an open file. */
export function sizeOf({ stats, content }: OpenFile): number {
  return content?.length ?? stats.size;
}

function notAFile(wanted: string): Refused {
  return new Refused("PERMISSION_DENIED", `Cannot read "${wanted}": it is neither a file nor a folder`);
}

/**
 * Reads `length` bytes from `start` on, a chunk at a time as the consumer asks, and closes the handle at the end.
 *
 * @throws {RangeError} in the stream, if the file got shorter meanwhile
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

/** Turns chunks into a web stream that asks for the next one only when there is room; cancelling ends the source. */
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
      // A generator that has not begun ends without its `finally`, and would leave its files open.
      if (!begun) await chunks.next().catch(() => {});
      await chunks.return(undefined);
    },
  }, { highWaterMark: 0 });
}
