/** `sandbox.files`: the files of a sandbox, from outside. Holds no state but the way in. @module */
import type { CallOptions } from "../runtime/call.ts";
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
 * Paths are relative to the sandbox's root, the folder that its runtime serves. A leading slash means that root, too:
 * `/a` is `a`. An absolute path within the root (`/workspace/a` where the root is `/workspace`) is that very file,
 * unless the root has a folder `workspace` of its own. Nothing leads out of the root.
 *
 * Every call throws a {@link SandboxError} that names the sandbox and the path: {@link FileNotFoundError} if nothing is
 * there, {@link AuthorizationError} if the path leads out of the root or the system forbids it,
 * {@link NotEnoughSpaceError} if the disk is full, {@link ConnectionError} if nobody answers. A `signal` that is aborted
 * ends the call with its reason.
 */
export interface Files {
  /**
   * Reads a file: as text (UTF-8), as bytes, as a `Blob`, or as a stream that takes bytes only as fast as it is read.
   *
   * Where the connection breaks it goes on at that byte, if the file is still the same. An offset behind the end gives
   * nothing.
   *
   * ```ts
   * const text = await sandbox.files.read("notes/today.txt");
   * const head = await sandbox.files.read("image.png", { format: "bytes", length: 8 });
   * ```
   *
   * @throws {@link FileNotFoundError}
   * @throws {@link InvalidArgumentError} for a folder
   * @throws {@link ConflictError} if the file was changed while it was read, and the connection broke
   */
  read(path: string, options?: ReadOptions & { format?: "text" | undefined }): Promise<string>;
  read(path: string, options: ReadOptions & { format: "bytes" }): Promise<Bytes>;
  read(path: string, options: ReadOptions & { format: "blob" }): Promise<Blob>;
  read(path: string, options: ReadOptions & { format: "stream" }): Promise<ReadableStream<Bytes>>;

  /**
   * Writes a file, or several. Folders above are made. Each is written whole or not at all: readers see the old file or
   * the new one. A symlink is written through.
   *
   * What is no stream is sent again if its connection breaks. Of several files some are sent at once; after a failure no
   * more are begun, and those before it stay.
   *
   * ```ts
   * await sandbox.files.write("run.sh", "#!/bin/sh\necho hello\n", { mode: 0o755 });
   * await sandbox.files.write([{ path: "a.txt", data: "a" }, { path: "b.bin", data: new Uint8Array([1, 2]) }]);
   * ```
   *
   * @throws {@link InvalidArgumentError} if a folder is there, or something that is not a folder above it
   * @throws {@link NotEnoughSpaceError} if the disk is full, or the file larger than the runtime takes
   */
  write(path: string, data: FileData, options?: WriteOptions): Promise<void>;
  write(files: FileToWrite[], options?: WriteOptions): Promise<void>;

  /**
   * Lists a folder by name; symlinks are shown themselves. With a `depth` above 1 (`Infinity` for all) also what is in
   * its folders, each right behind its folder, symlinks not followed.
   *
   * @throws {@link FileNotFoundError}
   * @throws {@link InvalidArgumentError} if it is not a folder
   * @throws {@link SandboxError} with reason `TOO_LONG` if that is more than 1,000,000 entries or 100,000 folders
   */
  list(path: string, options?: CallOptions & { depth?: number | undefined }): Promise<Entry[]>;

  /** Describes what is at a path; a symlink itself. Its `path` is the one from the root on. @throws {@link FileNotFoundError} */
  stat(path: string, options?: CallOptions): Promise<Entry>;

  /** Tells whether anything is at a path, were it a symlink that leads nowhere. */
  exists(path: string, options?: CallOptions): Promise<boolean>;

  /**
   * Makes a folder and those above it.
   *
   * @returns whether it is new; false also where this call made it, its answer was lost and it was asked for again
   * @throws {@link ConflictError} if something that is not a folder is there or above
   */
  makeDir(path: string, options?: CallOptions & { mode?: number | undefined }): Promise<boolean>;

  /**
   * Moves a file, folder or symlink; folders above `to` are made.
   *
   * @param options `replace`: what is at `to` is replaced in the same instant, a folder only if it is empty
   * @throws {@link FileNotFoundError}
   * @throws {@link ConflictError} if something is at `to`
   */
  rename(from: string, to: string, options?: CallOptions & { replace?: boolean | undefined }): Promise<void>;

  /**
   * Removes a file, a symlink or an empty folder; with `recursive` a folder and all that is in it. Of the root (".")
   * only what is in it.
   *
   * @throws {@link FileNotFoundError}
   * @throws {@link ConflictError} if a folder is not empty
   */
  remove(path: string, options?: CallOptions & { recursive?: boolean | undefined }): Promise<void>;

  /**
   * Tells what happens in a folder, from the first event `ready` on, until the loop is left or the folder is gone.
   *
   * Where the connection breaks it connects again and tells a `gap`: what happened meanwhile is not known.
   *
   * ```ts
   * for await (const event of sandbox.files.watch("src", { recursive: true })) {
   *   if (event.type === "modified") await sandbox.commands.run("npm run build");
   * }
   * ```
   *
   * @throws {@link FileNotFoundError} also for a file
   * @throws {@link ConnectionError} if nobody answers for some ten seconds
   */
  watch(path: string, options?: WatchOptions): AsyncGenerator<FileEvent>;

  /**
   * The same with a callback, called from `ready` on, one event after another; a promise that it returns is waited for.
   * What it throws ends the watch.
   *
   * @returns once nothing is missed any more
   */
  watchDir(path: string, callback: (event: FileEvent) => unknown, options?: WatchDirOptions): Promise<WatchHandle>;

  /**
   * Sends a file or a folder of this machine up, as one stream: modes, times and symlinks are kept, owners are not.
   * Not in browsers.
   *
   * `remotePath` is what it becomes: a file of that name, or a folder into which the contents go beside what is there.
   * A file goes *into* a path that ends with a slash. Files that are there are replaced, each whole or not at all; if it
   * fails on the way those before stay. It is not repeated.
   *
   * ```ts
   * await sandbox.files.upload("./project", "project", { filter: (path) => path !== "node_modules" });
   * ```
   *
   * @throws {Error} of Node for what fails on this machine, with its `code`, such as `ENOENT`
   * @throws {@link InvalidArgumentError} or {@link ConflictError} if something else is where a file or folder belongs
   */
  upload(localPath: string, remotePath: string, options?: TransferOptions): Promise<Transferred>;

  /**
   * Brings a file or a folder down to this machine, with modes, times and symlinks. Not in browsers.
   *
   * `localPath` is what it becomes, as with `upload`. A file or a folder goes *into* a path that ends with a slash, under
   * the last name of `remotePath`, which the sandbox does not choose; of the root the contents do.
   *
   * Whatever the sandbox sends, nothing is written outside of what it becomes: names that lead out end the download,
   * symlinks that lead out are skipped, and so is what is neither file, folder nor symlink. Files that are there are replaced, each whole or not at all; if it fails on the way those before stay.
   *
   * A single file goes on where a broken connection ended; a folder does not.
   *
   * ```ts
   * const { files, skipped } = await sandbox.files.download("project/dist", "./dist");
   * ```
   *
   * @throws {@link FileNotFoundError}
   * @throws {@link ConflictError} if on this machine something that is not a folder, were it a symlink to one, is where a folder
   * belongs, or a folder where a file does
   * @throws {Error} of Node for what fails on this machine, with its `code`, such as `ENOSPC`
   */
  download(remotePath: string, localPath: string, options?: TransferOptions): Promise<Transferred>;

  /** Says how full the disk of the root is. */
  disk(options?: CallOptions): Promise<Disk>;
}

/** Makes the files of one sandbox. */
export function createFiles(runtimeClient: RuntimeClient): Files {
  return {
    read:
      ((path: string, options: ReadOptions & { format?: ReadFormat } = {}) =>
        readFile(runtimeClient, path, options)) as Files[
          "read"
        ],
    write: async (to: string | FileToWrite[], ...[second, third = {}]: [unknown?, WriteOptions?]) => {
      if (typeof to === "string") return await writeFile(runtimeClient, to, second as FileData, third);
      await writeAll(runtimeClient, to, (second ?? {}) as WriteOptions);
    },
    list: (path, options = {}) => listFolder(runtimeClient, path, options),
    stat: (path, options = {}) => describe(runtimeClient, path, options),
    exists: (path, options = {}) => exists(runtimeClient, path, options),
    makeDir: (path, options = {}) => makeDir(runtimeClient, path, options),
    rename: (from, to, options = {}) => rename(runtimeClient, from, to, options),
    remove: (path, options = {}) => remove(runtimeClient, path, options),
    watch: (path, options = {}) => watchFolder(runtimeClient, path, options),
    watchDir: (path, callback, options = {}) => watchDir(runtimeClient, path, callback, options),
    upload: (localPath, remotePath, options = {}) => upload(runtimeClient, localPath, remotePath, options),
    download: (remotePath, localPath, options = {}) => download(runtimeClient, remotePath, localPath, options),
    disk: (options = {}) => readDisk(runtimeClient, options),
  };
}
