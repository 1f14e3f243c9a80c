/** Writes a tar entry by entry, no faster than it is read. @module */
import { type Header, pack } from "tar-stream";
import { type LeftOut, leftOutBlock, prepareHeader } from "./tarheaders.ts";

/** Bytes that may wait for the reader before writing pauses. */
const MOST_WAITING_BYTES = 1024 * 1024;

/** The header of an entry. `size` is the size of a file's content. */
export type TarHeader = Partial<Header> & { name: string };

/** A tar that is being written. */
export interface TarWriter {
  /** Adds a folder or a link. */
  put(header: TarHeader): Promise<void>;
  /**
   * Adds a file, as fast as the tar is read. `chunks` must yield exactly `header.size` bytes. If this fails, the tar
   * cannot continue.
   */
  putFile(header: TarHeader & { size: number }, chunks: AsyncIterable<Uint8Array>): Promise<void>;
  /** Records that something is missing or incomplete. */
  leaveOut(one: LeftOut): Promise<void>;
  /** Ends the tar after the last entry. */
  end(): void;
  /** Fails the tar: its reader gets the error. Without an error, the tar just ends, because nobody needs the rest. */
  fail(error?: Error): void;
  /** Returns whether the reader has stopped or the tar has failed, so that further entries are useless. */
  isOver(): boolean;
  /** The bytes of the tar; can be read once. If the reader stops, the writer ends. */
  chunks: AsyncGenerator<Uint8Array>;
}

/** Creates a writer. */
export function createTarWriter(): TarWriter {
  const tar = pack();
  const { room, chunks } = pace(tar);
  // The reader gets errors when it reads. Before it begins, an error must not end the process.
  tar.on("error", () => {});
  return {
    put: async (wanted) => {
      await room();
      const { header, before } = prepareHeader(wanted);
      if (before.length > 0) tar.push(before);
      await new Promise<void>((resolve, reject) => {
        tar.entry(header, (error) => error ? reject(error) : resolve());
      });
    },
    putFile: async (wanted, source) => {
      await room();
      const { header, before } = prepareHeader(wanted);
      const done = Promise.withResolvers<void>();
      done.promise.catch(() => {});
      let entry: Entry | undefined;
      // Opened with the first chunk: a source that fails before that leaves no trace in the tar.
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

/**
 * Limits the bytes that wait for the reader. tar-stream does so only within a file: a million empty files would all
 * wait in memory.
 */
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
