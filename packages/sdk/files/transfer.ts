/** Uploads and downloads files and folders; loads the code for the local disk when it is needed. @module */
import type { CallOptions } from "../runtime/call.ts";
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
export interface TransferOptions extends CallOptions {
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
