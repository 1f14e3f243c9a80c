/** `sandbox.fs`: the files of a sandbox under the names of `node:fs/promises`. @module */
import type { ObjectRef } from "../errors.ts";
import type { CallOptions } from "../runtime/call.ts";
import type { Files } from "./files.ts";
import { changingFS } from "./fschange.ts";
import { readingFS } from "./fsread.ts";
import type { FSDirent, FSStats } from "./fsstats.ts";
import type { Bytes } from "./read.ts";
import type { FileData } from "./write.ts";

/** Encodings that text is read in. */
export type FSEncoding = "utf8" | "utf-8" | "base64";

/** What `watch` tells, as `fs.promises.watch` does. */
export interface FSWatchEvent {
  /** `rename` for what comes and goes, else `change`. */
  eventType: "rename" | "change";
  /** From the folder on; null where events are lost: look at everything. */
  filename: string | null;
}

/**
 * The files of a sandbox under the names of `node:fs/promises`, for code that is written for that. Paths are those of
 * {@link Files}.
 *
 * Errors are those of `files`, but that `code` is Node's, see {@link FSError}: `error.code === "ENOENT"` and
 * `error instanceof FileNotFoundError` are both true. What differs from Node: bytes are a `Uint8Array`, no `Buffer`;
 * `writeFile` makes the folders above and writes whole or not at all; owners, access times and descriptors do not exist.
 * What the runtime cannot do (append, links, chmod, truncate) is not there.
 *
 * ```ts
 * const { fs } = sandbox;
 * await fs.writeFile("a.json", JSON.stringify({ a: 1 }));
 * const text = await fs.readFile("a.json", "utf8");
 * for (const one of await fs.readdir(".", { withFileTypes: true })) if (one.isDirectory()) await fs.rm(one.name, { recursive: true });
 * ```
 */
export interface SandboxFS {
  /** Reads a file: bytes, or text of an encoding. */
  readFile(path: string, options?: (CallOptions & { encoding?: null | undefined }) | null): Promise<Bytes>;
  /** Reads a file as text. */
  readFile(path: string, options: FSEncoding | (CallOptions & { encoding: FSEncoding })): Promise<string>;
  /** Flags other than `w` are refused. */
  writeFile(
    path: string,
    data: FileData,
    options?: "utf8" | "utf-8" | (CallOptions & { mode?: number; encoding?: "utf8" | "utf-8"; flag?: "w" }),
  ): Promise<void>;
  /** Names by name; with `recursive` paths from the folder on, symlinks not followed. */
  readdir(path: string, options?: CallOptions & { recursive?: boolean; withFileTypes?: false }): Promise<string[]>;
  readdir(path: string, options: CallOptions & { recursive?: boolean; withFileTypes: true }): Promise<FSDirent[]>;
  /** Of what a symlink leads to. */
  stat(path: string, options?: CallOptions): Promise<FSStats>;
  /** Of a symlink itself. */
  lstat(path: string, options?: CallOptions): Promise<FSStats>;
  /** Tells only whether something is there, whatever the mode asks. */
  access(path: string, mode?: number): Promise<void>;
  /** Makes a folder. @returns with `recursive` the path if it is new (Node: the first folder that was made), else undefined */
  mkdir(
    path: string,
    options?: number | (CallOptions & { recursive?: boolean; mode?: number }),
  ): Promise<string | undefined>;
  /** Makes a folder of its own: the prefix and six characters. @returns its path */
  mkdtemp(prefix: string, options?: CallOptions): Promise<string>;
  /** Removes a file, or with `recursive` whatever is there; with `force` also where nothing is. */
  rm(path: string, options?: CallOptions & { recursive?: boolean; force?: boolean }): Promise<void>;
  /** Removes a folder that is empty. */
  rmdir(path: string, options?: CallOptions): Promise<void>;
  /** Removes what is not a folder. */
  unlink(path: string, options?: CallOptions): Promise<void>;
  /** What is at `to` is replaced, a folder only if it is empty. */
  rename(from: string, to: string, options?: CallOptions): Promise<void>;
  /** Through this machine: the runtime has no copy of its own. Keeps the mode. */
  copyFile(from: string, to: string, options?: CallOptions): Promise<void>;
  /** Tells of changes, until it is left or its signal fires. */
  watch(path: string, options?: CallOptions & { recursive?: boolean }): AsyncGenerator<FSWatchEvent>;
}

/** Makes it of the files of a sandbox. @param object the sandbox, for errors */
export function createFS(files: Files, object: ObjectRef): SandboxFS {
  return { ...readingFS(files, object), ...changingFS(files, object) };
}
