/** Writes a tar entry by entry, no faster than it is read; opens no files. @module */
import { type Header, pack } from "tar-stream";
import { type LeftOut, leftOutBlock } from "./tarleftout.ts";
import { named } from "./tarnames.ts";

/** Bytes that may wait for the reader before writing pauses. */
const MOST_WAITING_BYTES = 1024 * 1024;

/** What stands before an entry. `size` is that of a file's content. */
export type TarHeader = Partial<Header> & { name: string };

/** A tar that is being written. */
export interface TarWriter {
  /** Adds a folder or a link. */
  put(header: TarHeader): Promise<void>;
  /** Adds a file, as fast as the tar is read. `chunks` must give exactly `header.size` bytes. If this fails the tar cannot go on. */
  putFile(header: TarHeader & { size: number }, chunks: AsyncIterable<Uint8Array>): Promise<void>;
  /** Says that something is missing, or not whole. */
  leaveOut(one: LeftOut): Promise<void>;
  /** No more entries come: the tar ends after the last one. */
  end(): void;
  /** Fails the tar: its reader gets the error. Without an error nobody wants the rest, and it just ends. */
  fail(error?: Error): void;
  /** The reader has left, or the tar has failed: nobody wants more. */
  isOver(): boolean;
  /** The tar itself, once. Leaving it ends the writer. */
  chunks: AsyncGenerator<Uint8Array>;
}

/** Makes one. */
export function createTarWriter(): TarWriter {
  const tar = pack();
  const { room, chunks } = pace(tar);
  // Its reader learns of an error by reading; one that has not begun must not end the process.
  tar.on("error", () => {});
  return {
    put: async (wanted) => {
      await room();
      const { header, before } = named(wanted);
      if (before.length > 0) tar.push(before);
      await new Promise<void>((resolve, reject) => {
        tar.entry(header, (error) => error ? reject(error) : resolve());
      });
    },
    putFile: async (wanted, source) => {
      await room();
      const { header, before } = named(wanted);
      const done = Promise.withResolvers<void>();
      done.promise.catch(() => {});
      let entry: Entry | undefined;
      // Opened with the first chunk: a source that fails before it leaves no trace.
      const open = () => {
        if (before.length > 0) tar.push(before);
        return tar.entry({ ...header, type: "file" }, (error) => error ? done.reject(error) : done.resolve());
      };
      for await (const chunk of source) {
        entry ??= open();
        if (!entry.write(chunk)) await Promise.race([drained(entry), done.promise]);
      }
      entry ??= open();
      entry.end(null);
      await done.promise;
    },
    leaveOut: async (one) => {
      await room();
      tar.push(leftOutBlock(one));
    },
    end: () => tar.finalize(),
    fail: (error) => tar.destroy(error),
    isOver: () => tar.destroyed,
    chunks,
  };
}

type Tar = ReturnType<typeof pack>;
type Entry = ReturnType<Tar["entry"]>;

async function drained(entry: Entry): Promise<void> {
  await new Promise<void>((resolve) => entry.once("drain", resolve));
}

/** tar-stream waits for its reader within a file only: a million empty files would all wait in memory. */
function pace(tar: Tar): { room(): Promise<void>; chunks: AsyncGenerator<Uint8Array> } {
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
