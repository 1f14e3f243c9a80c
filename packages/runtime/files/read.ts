/** Opens a file for reading and streams a part of it; never follows a symlink at the last step. @module */
import { Buffer } from "node:buffer";
import { constants, type Stats } from "node:fs";
import { type FileHandle, lstat, open } from "node:fs/promises";
import type { FSPath } from "../../process/bytepaths.ts";
import type { Root } from "../confine.ts";
import { withParent } from "./folder.ts";
import { Refused } from "./refused.ts";

/** A file that is open for reading, or a folder, which is not opened. Whoever gets a handle closes it. */
export type Opened = { stats: Stats; handle: FileHandle } | { stats: Stats; handle?: undefined };

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
export async function openFile(at: FSPath, wanted: string): Promise<{ stats: Stats; handle: FileHandle }> {
  // O_NONBLOCK: if a pipe took the file's place just now, opening it would wait for a writer.
  const handle = await open(at, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const stats = await handle.stat();
    if (!stats.isFile()) throw notAFile(wanted);
    return { stats, handle };
  } catch (error) {
    await handle.close();
    throw error;
  }
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
