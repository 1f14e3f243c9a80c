/** Counts what a transfer moves, and tells who wants to know. @module */
import type { TransferOptions, TransferProgress, Transferred } from "../files/transfer.ts";

/** A count that goes on. */
export interface Tally {
  done: Transferred;
  /** Counts content as it goes by. */
  watch(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array>;
  /** Counts a file that is through. */
  file(): void;
  skip(path: string, reason: string): void;
}

/** Begins to count. @param totalBytes undefined where nobody knows */
export function createTally(onProgress: TransferOptions["onProgress"], totalBytes: number | undefined): Tally {
  const done: Transferred = { files: 0, directories: 0, links: 0, bytes: 0, skipped: [] };
  const tell = () => {
    const { bytes, files } = done;
    const progress: TransferProgress = { bytes, files };
    onProgress?.(totalBytes === undefined ? progress : { ...progress, totalBytes });
  };
  return {
    done,
    watch: async function* (chunks) {
      for await (const chunk of chunks) {
        yield chunk;
        done.bytes += chunk.length;
        tell();
      }
    },
    file: () => {
      done.files++;
      tell();
    },
    skip: (path, reason) => void done.skipped.push({ path, reason }),
  };
}
