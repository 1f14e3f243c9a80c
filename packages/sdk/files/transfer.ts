/** Files and folders between a sandbox and the caller's own disk. What touches that disk is loaded when it is first needed. @module */
import type { CallOptions } from "../runtime/call.ts";
import type { RuntimeClient } from "../runtime/runtimeclient.ts";

/** How far a transfer is. */
export interface TransferProgress {
  /** Content of files that has gone by, in bytes. */
  bytes: number;
  /** Files that are through. */
  files: number;
  /** What it will be in the end, in bytes; undefined for folders that come down: nobody counts them before. */
  totalBytes?: number;
}

/** How to transfer. */
export interface TransferOptions extends CallOptions {
  /** Called as bytes go by, many times a second. */
  onProgress?: ((progress: TransferProgress) => void) | undefined;
  /**
   * Says what goes; a folder that does not leaves out all that is in it. Of folders only.
   *
   * @param path from the folder on, with slashes
   */
  filter?: ((path: string, type: "file" | "directory" | "symlink") => boolean) | undefined;
}

/** What has been transferred. */
export interface Transferred {
  files: number;
  /** The folder itself is not among them. */
  directories: number;
  /** Symlinks. */
  links: number;
  /** Content of files. */
  bytes: number;
  /**
   * What could not go, and why: symlinks that lead out of the folder; sockets, pipes and devices; what the runtime may not
   * read. Also a file that became shorter while it came down, and ends in zeros. Not what `filter` left out.
   */
  skipped: { path: string; reason: string }[];
}

/** Sends a file or folder up. @throws as `Files.upload` */
export async function upload(
  runtimeClient: RuntimeClient,
  localPath: string,
  remotePath: string,
  options: TransferOptions,
): Promise<Transferred> {
  const { uploadPath } = await import("../disk/upload.ts");
  return await uploadPath(runtimeClient, localPath, remotePath, options);
}

/** Brings a file or folder down. @throws as `Files.download` */
export async function download(
  runtimeClient: RuntimeClient,
  remotePath: string,
  localPath: string,
  options: TransferOptions,
): Promise<Transferred> {
  const { downloadPath } = await import("../disk/download.ts");
  return await downloadPath(runtimeClient, remotePath, localPath, options);
}
