/** Defines `sandbox.files`: all operations on the files of a sandbox. @module */
import type { UserOptions } from "../runtime/call.ts";
import type { RuntimeClient } from "../runtime/runtimeclient.ts";
import type { Disk, Entry } from "./entry.ts";
import { describe, exists, listFolder, makeDir, readDisk, remove, rename } from "./manage.ts";
import { type Bytes, readFile, type ReadFormat, type ReadOptions } from "./read.ts";
import { download, type TransferOptions, type Transferred, upload } from "./transfer.ts";
import {
  type FileEvent,
  watchDir,
  type WatchDirOptions,
  watchFolder,
  type WatchHandle,
  type WatchOptions,
} from "./watch.ts";
import { type FileData, type FileToWrite, writeAll, writeFile, type WriteOptions } from "./write.ts";

/**
 * The files of a sandbox.
 *
 * Paths mean the same as in a command: `a` is a file in the working directory, which is `/workspace` in hookbox's images,
 * `/tmp/a` is exactly that file, and `~/a` is a file in the home directory.
 *
 * If the runtime was started with `--root`, files are confined to that folder, the root. Paths are then relative to it,
 * also with a leading slash: `/a` is `a`. If the root is `/workspace`, `/workspace/a` is `a`, too, unless the root
 * contains a folder named `workspace`. No path can lead out of the root.
 *
 * Every call throws a {@link SandboxError} that names the sandbox and the path:
 *
 * - {@link FileNotFoundError} if nothing exists at the path
 * - {@link AuthorizationError} if the system does not permit the operation, or the path leads out of a confined root
 * - {@link NotEnoughSpaceError} if the disk is full
 * - {@link ConnectionError} if the sandbox does not answer
 *
 * If the `signal` of a call is aborted, the call throws the reason of the signal. With `user`, the call has the rights of
 * that user of the sandbox, and new files belong to the user.
 */
export interface Files {
  /**
   * Reads a file as text (UTF-8), as bytes, as a `Blob`, or as a stream. A stream receives bytes only as fast as you
   * read it.
   *
   * If the connection breaks, reading continues at the same byte, provided that the file has not changed. If the offset
   * is beyond the end of the file, the result is empty.
   *
   * ```ts
   * const text = await sandbox.files.read("notes/today.txt");
   * const head = await sandbox.files.read("image.png", { format: "bytes", length: 8 });
   * ```
   *
   * @throws {@link FileNotFoundError}
   * @throws {@link InvalidArgumentError} if it is a folder
   * @throws {@link ConflictError} if the connection broke, and the file was changed while it was read
   */
  read(path: string, options?: ReadOptions & { format?: "text" | undefined }): Promise<string>;
  read(path: string, options: ReadOptions & { format: "bytes" }): Promise<Bytes>;
  read(path: string, options: ReadOptions & { format: "blob" }): Promise<Blob>;
  read(path: string, options: ReadOptions & { format: "stream" }): Promise<ReadableStream<Bytes>>;

  /**
   * Writes one or more files, and creates missing parent folders. Each file is written atomically: other programs see
   * either the old file or the new one. If the path is a symlink, the file that it leads to is written.
   *
   * If the connection breaks, the data is sent again, unless it is a stream. Up to eight files are sent at the same
   * time. After a failure, no further files are started; files that were written before stay.
   *
   * ```ts
   * await sandbox.files.write("run.sh", "#!/bin/sh\necho hello\n", { mode: 0o755 });
   * await sandbox.files.write([{ path: "a.txt", data: "a" }, { path: "b.bin", data: new Uint8Array([1, 2]) }]);
   * ```
   *
   * @throws {@link InvalidArgumentError} if the path is a folder, or a parent is not a folder
   * @throws {@link NotEnoughSpaceError} if the disk is full, or the file is larger than the runtime accepts
   */
  write(path: string, data: FileData, options?: WriteOptions): Promise<void>;
  write(files: FileToWrite[], options?: WriteOptions): Promise<void>;

  /**
   * Lists a folder, sorted by name. Symlinks are listed as symlinks. With a `depth` above 1, the list also contains the
   * content of subfolders, directly after each subfolder. `Infinity` lists all levels. Symlinks are not followed.
   * Subfolders that may not be read, and file systems of the kernel such as `/proc`, are listed without their content.
   *
   * With a `limit`, returns at most this many entries, and reads no more subfolders than needed for that. Entries near
   * the folder have precedence over those further down.
   *
   * @throws {@link FileNotFoundError}
   * @throws {@link InvalidArgumentError} if it is not a folder
   * @throws {@link SandboxError} with reason `TOO_LONG` if there are more than 1,000,000 entries or 100,000 folders
   */
  list(
    path: string,
    options?: UserOptions & { depth?: number | undefined; limit?: number | undefined },
  ): Promise<Entry[]>;

  /**
   * Describes the file, folder or symlink at a path; a symlink is not followed. The `path` of the result is absolute. In
   * a confined root, it is relative to the root.
   *
   * @throws {@link FileNotFoundError}
   */
  stat(path: string, options?: UserOptions): Promise<Entry>;

  /** Returns whether something exists at a path. True for a symlink, even if it leads nowhere. */
  exists(path: string, options?: UserOptions): Promise<boolean>;

  /**
   * Creates a folder and its missing parents.
   *
   * @returns whether the folder is new. If the response was lost and the request was repeated, this is false although
   * the call created the folder
   * @throws {@link ConflictError} if the path or a parent exists and is not a folder
   */
  makeDir(path: string, options?: UserOptions & { mode?: number | undefined }): Promise<boolean>;

  /**
   * Moves a file, folder or symlink, and creates missing parent folders of `to`.
   *
   * @param options with `replace`, an existing file at `to` is replaced atomically; a folder only if it is empty
   * @throws {@link FileNotFoundError}
   * @throws {@link ConflictError} if something exists at `to`
   */
  rename(from: string, to: string, options?: UserOptions & { replace?: boolean | undefined }): Promise<void>;

  /**
   * Deletes a file, a symlink or an empty folder. With `recursive`, deletes a folder with all its content. For the
   * working directory ("."), only the content is deleted.
   *
   * @throws {@link FileNotFoundError}
   * @throws {@link ConflictError} if a folder is not empty
   */
  remove(path: string, options?: UserOptions & { recursive?: boolean | undefined }): Promise<void>;

  /**
   * Yields the changes in a folder, until you leave the loop or the folder is deleted. All changes after the event
   * `ready` are reported. With `recursive`, at most 8,192 folders are watched, and no file system of the kernel.
   *
   * If the connection breaks, the SDK connects again and yields a `gap`: changes in between are not known.
   *
   * ```ts
   * for await (const event of sandbox.files.watch("src", { recursive: true })) {
   *   if (event.type === "modified") await sandbox.commands.run("npm run build");
   * }
   * ```
   *
   * @throws {@link FileNotFoundError} also if the path is a file
   * @throws {@link ConnectionError} if the sandbox does not answer for about ten seconds
   */
  watch(path: string, options?: WatchOptions): AsyncGenerator<FileEvent>;

  /**
   * Watches a folder as `watch` does, and calls a function with each event after `ready`. If the function returns a
   * promise, the next call waits for it. If the function throws, the watch ends.
   *
   * @returns a handle, as soon as all further changes are reported
   */
  watchDir(path: string, callback: (event: FileEvent) => unknown, options?: WatchDirOptions): Promise<WatchHandle>;

  /**
   * Sends a file or a folder of this machine to the sandbox, as one stream. Modes, times and symlinks are kept; owners
   * are not. Not available in browsers.
   *
   * `remotePath` is the path of the new file or folder. If the folder exists, the content is added to it. If the path
   * ends with a slash, a file is put into that folder. Existing files are replaced atomically. If the upload fails,
   * files that were written before stay. The upload is not repeated.
   *
   * ```ts
   * await sandbox.files.upload("./project", "project", { filter: (path) => path !== "node_modules" });
   * ```
   *
   * @throws {Error} an error of Node with a `code` such as `ENOENT`, for failures on this machine
   * @throws {@link InvalidArgumentError} or {@link ConflictError} if a folder exists where a file would be written, or
   * the other way round
   */
  upload(localPath: string, remotePath: string, options?: TransferOptions): Promise<Transferred>;

  /**
   * Copies a file or a folder of the sandbox to this machine, with modes, times and symlinks. Not available in
   * browsers.
   *
   * `localPath` is the path of the new file or folder, as with `upload`. If it ends with a slash, the file or folder is
   * put into that folder. Its name is then the last part of `remotePath`; the sandbox cannot choose it. If `remotePath`
   * is `.`, `~` or `/`, the content of the folder is put there.
   *
   * The sandbox cannot write outside of the target. A name that leads out of it ends the download. Symlinks that lead
   * out of it, sockets, pipes and devices are skipped. Existing files are replaced atomically. If the download fails,
   * files that were written before stay.
   *
   * If the connection breaks, the download of a single file continues; that of a folder fails.
   *
   * ```ts
   * const { files, skipped } = await sandbox.files.download("project/dist", "./dist");
   * ```
   *
   * @throws {@link FileNotFoundError}
   * @throws {@link ConflictError} if, on this machine, a file or symlink exists where a folder belongs, or a folder
   * where a file belongs
   * @throws {Error} an error of Node with a `code` such as `ENOSPC`, for failures on this machine
   */
  download(remotePath: string, localPath: string, options?: TransferOptions): Promise<Transferred>;

  /** Returns how full the disk is that contains the working directory. */
  disk(options?: UserOptions): Promise<Disk>;
}

/** Creates the `files` of one sandbox. */
export function createFiles(runtimeClient: RuntimeClient): Files {
  const as = ({ user }: UserOptions) => runtimeClient.as(user);
  return {
    read:
      ((path: string, options: ReadOptions & { format?: ReadFormat } = {}) =>
        readFile(as(options), path, options)) as Files[
          "read"
        ],
    write: async (to: string | FileToWrite[], ...[second, third = {}]: [unknown?, WriteOptions?]) => {
      if (typeof to === "string") return await writeFile(as(third), to, second as FileData, third);
      const options = (second ?? {}) as WriteOptions;
      await writeAll(as(options), to, options);
    },
    list: (path, options = {}) => listFolder(as(options), path, options),
    stat: (path, options = {}) => describe(as(options), path, options),
    exists: (path, options = {}) => exists(as(options), path, options),
    makeDir: (path, options = {}) => makeDir(as(options), path, options),
    rename: (from, to, options = {}) => rename(as(options), from, to, options),
    remove: (path, options = {}) => remove(as(options), path, options),
    watch: (path, options = {}) => watchFolder(as(options), path, options),
    watchDir: (path, callback, options = {}) => watchDir(as(options), path, callback, options),
    upload: (localPath, remotePath, options = {}) => upload(as(options), localPath, remotePath, options),
    download: (remotePath, localPath, options = {}) => download(as(options), remotePath, localPath, options),
    disk: (options = {}) => readDisk(as(options), options),
  };
}
