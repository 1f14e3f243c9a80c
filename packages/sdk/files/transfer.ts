/** Uploads and downloads files and folders; loads the code for the local disk when it is needed. @module */
import type { UserOptions } from "../runtime/call.ts";
import type { RuntimeClient } from "../runtime/runtimeclient.ts";

/** Progress of a transfer. */
export interface TransferProgress {
  /** Bytes of file content transferred so far. */
  bytes: number;
  /** Files transferred completely. */
  files: number;
  /** Total bytes of the transfer. Undefined for downloads of folders, because their size is not known in advance. */
  totalBytes?: number;
}

/** Options of `upload` and `download`. */
export interface TransferOptions extends UserOptions {
  /** Called many times a second during the transfer. */
  onProgress?: ((progress: TransferProgress) => void) | undefined;
  /**
   * Returns whether to transfer an entry of a folder. If it returns false for a folder, its content is left out, too.
   * Not called for a single file.
   *
   * @param path relative to the folder, with slashes
   */
  filter?: ((path: string, type: "file" | "directory" | "symlink") => boolean) | undefined;
}

/** What a transfer moved. */
export interface Transferred {
  files: number;
  /** Number of folders, without the transferred folder itself. */
  directories: number;
  /** Number of symlinks. */
  links: number;
  /** Bytes of file content. */
  bytes: number;
  /**
   * Entries that could not be transferred, and why: symlinks that lead out of the folder, sockets, pipes, devices, and
   * files that the runtime may not read. Also files that became shorter during a download: their end is filled with
   * zeros. Entries left out by `filter` are not listed.
   */
  skipped: { path: string; reason: string }[];
}

/** Uploads a file or folder. @throws as `Files.upload` */
export async function upload(
  runtimeClient: RuntimeClient,
  localPath: string,
  remotePath: string,
  options: TransferOptions,
): Promise<Transferred> {
  const { uploadPath } = await import("../disk/upload.ts");
  return await uploadPath(runtimeClient, localPath, remotePath, options);
}

/** Downloads a file or folder. @throws as `Files.download` */
export async function download(
  runtimeClient: RuntimeClient,
  remotePath: string,
  localPath: string,
  options: TransferOptions,
): Promise<Transferred> {
  const { downloadPath } = await import("../disk/download.ts");
  return await downloadPath(runtimeClient, remotePath, localPath, options);
}

/** The counts of one transfer. */
export interface TransferCount {
  done: Transferred;
  /** Passes chunks of content on, and counts their bytes. */
  watch(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array>;
  /** Counts a file that was transferred completely. */
  file(): void;
  skip(path: string, reason: string): void;
}

/** Starts a count. @param totalBytes undefined if the total is not known */
export function createTransferCount(
  onProgress: TransferOptions["onProgress"],
  totalBytes: number | undefined,
): TransferCount {
  const done: Transferred = { files: 0, directories: 0, links: 0, bytes: 0, skipped: [] };
  const report = () => {
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
        report();
      }
    },
    file: () => {
      done.files++;
      report();
    },
    skip: (path, reason) => void done.skipped.push({ path, reason }),
  };
}
