/** Defines `sandbox.fs`: the files of a sandbox with the functions of `node:fs/promises`. @module */
import type { ObjectRef } from "../errors.ts";
import type { CallOptions } from "../runtime/call.ts";
import type { Files } from "./files.ts";
import { changingFS } from "./fschange.ts";
import { readingFS } from "./fsread.ts";
import type { FSDirent, FSStats } from "./fsstats.ts";
import type { Bytes } from "./read.ts";
import type { FileData } from "./write.ts";

/** Encodings in which `readFile` returns text. */
export type FSEncoding = "utf8" | "utf-8" | "base64";

/** An event of `watch`, as that of `fs.promises.watch`. */
export interface FSWatchEvent {
  /** `rename` if a name appeared or disappeared, otherwise `change`. */
  eventType: "rename" | "change";
  /** Path relative to the folder. Null if events were lost: read the whole folder again. */
  filename: string | null;
}

/**
 * The files of a sandbox with the functions of `node:fs/promises`, for code that expects those. {@link Files} explains
 * the paths.
 *
 * Errors are those of `files`, but `code` is Node's: see {@link FSError}. Both `error.code === "ENOENT"` and
 * `error instanceof FileNotFoundError` are true. Some things differ from Node:
 *
 * - Bytes are a `Uint8Array`, not a `Buffer`.
 * - `writeFile` creates missing parent folders, and writes atomically.
 * - There are no owners, access times or file descriptors.
 * - Functions that the runtime does not support are missing: append, links, chmod, truncate.
 *
 * ```ts
 * const { fs } = sandbox;
 * await fs.writeFile("a.json", JSON.stringify({ a: 1 }));
 * const text = await fs.readFile("a.json", "utf8");
 * for (const one of await fs.readdir(".", { withFileTypes: true })) if (one.isDirectory()) await fs.rm(one.name, { recursive: true });
 * ```
 */
export interface SandboxFS {
  /** Reads a file as bytes, or as text if an encoding is given. */
  readFile(path: string, options?: (CallOptions & { encoding?: null | undefined }) | null): Promise<Bytes>;
  /** Reads a file as text. */
  readFile(path: string, options: FSEncoding | (CallOptions & { encoding: FSEncoding })): Promise<string>;
  /** Writes a file. The only supported flag is `w`. */
  writeFile(
    path: string,
    data: FileData,
    options?: "utf8" | "utf-8" | (CallOptions & { mode?: number; encoding?: "utf8" | "utf-8"; flag?: "w" }),
  ): Promise<void>;
  /**
   * Lists a folder, sorted by name. With `recursive`, returns paths relative to the folder; symlinks are not followed.
   */
  readdir(path: string, options?: CallOptions & { recursive?: boolean; withFileTypes?: false }): Promise<string[]>;
  readdir(path: string, options: CallOptions & { recursive?: boolean; withFileTypes: true }): Promise<FSDirent[]>;
  /** Describes a file or folder; follows a symlink. */
  stat(path: string, options?: CallOptions): Promise<FSStats>;
  /** Describes a file, folder or symlink; does not follow a symlink. */
  lstat(path: string, options?: CallOptions): Promise<FSStats>;
  /** Checks only whether something exists at the path; `mode` has no effect. */
  access(path: string, mode?: number): Promise<void>;
  /**
   * Creates a folder.
   *
   * @returns with `recursive`, the path if the folder is new (Node returns the first created folder); otherwise
   * undefined
   */
  mkdir(
    path: string,
    options?: number | (CallOptions & { recursive?: boolean; mode?: number }),
  ): Promise<string | undefined>;
  /** Creates a folder whose name is the prefix and six random characters. @returns its path */
  mkdtemp(prefix: string, options?: CallOptions): Promise<string>;
  /** Deletes a file; with `recursive`, also a folder. With `force`, a missing path is not an error. */
  rm(path: string, options?: CallOptions & { recursive?: boolean; force?: boolean }): Promise<void>;
  /** Deletes an empty folder. */
  rmdir(path: string, options?: CallOptions): Promise<void>;
  /** Deletes a file or symlink. */
  unlink(path: string, options?: CallOptions): Promise<void>;
  /** Moves a file or folder. What exists at `to` is replaced; a folder only if it is empty. */
  rename(from: string, to: string, options?: CallOptions): Promise<void>;
  /** Copies a file and its mode. The content is sent through this machine, because the runtime cannot copy. */
  copyFile(from: string, to: string, options?: CallOptions): Promise<void>;
  /** Yields the changes in a folder, until you leave the loop or the signal aborts. */
  watch(path: string, options?: CallOptions & { recursive?: boolean }): AsyncGenerator<FSWatchEvent>;
}

/** Creates the `fs` of a sandbox. @param object the sandbox, for errors */
export function createFS(files: Files, object: ObjectRef): SandboxFS {
  return { ...readingFS(files, object), ...changingFS(files, object) };
}
