/** Counts what a transfer moves, and reports the progress. @module */
import type { TransferOptions, TransferProgress, Transferred } from "../files/transfer.ts";

/** The counts of one transfer. */
export interface Tally {
  done: Transferred;
  /** Passes chunks of content on, and counts their bytes. */
  watch(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array>;
  /** Counts a file that was transferred completely. */
  file(): void;
  skip(path: string, reason: string): void;
}

/** Starts a count. @param totalBytes undefined if the total is not known */
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
