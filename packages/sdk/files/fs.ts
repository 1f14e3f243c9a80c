/** Defines `sandbox.fs`: the files of a sandbox with the functions of `node:fs/promises`. @module */
import { base64Encode } from "@bufbuild/protobuf/wire";
import {
  AuthorizationError,
  ConflictError,
  FileNotFoundError,
  InvalidArgumentError,
  NotEnoughSpaceError,
  type ObjectRef,
  SandboxError,
  UnsupportedError,
} from "../errors.ts";
import type { UserOptions } from "../runtime/call.ts";
import { randomId } from "../runtime/repeat.ts";
import { type Entry, folderOf, joinPath, nameOf } from "./entry.ts";
import type { Files } from "./files.ts";
import { asFS, asFSError, withCode } from "./fserrors.ts";
import type { Bytes } from "./read.ts";
import type { FileEvent } from "./watch.ts";
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
 * With `user`, a call has the rights of that user of the sandbox, as the functions of `files` have.
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
  readFile(path: string, options?: (UserOptions & { encoding?: null | undefined }) | null): Promise<Bytes>;
  /** Reads a file as text. */
  readFile(path: string, options: FSEncoding | (UserOptions & { encoding: FSEncoding })): Promise<string>;
  /** Writes a file. The only supported flag is `w`. */
  writeFile(
    path: string,
    data: FileData,
    options?: "utf8" | "utf-8" | (UserOptions & { mode?: number; encoding?: "utf8" | "utf-8"; flag?: "w" }),
  ): Promise<void>;
  /**
   * Lists a folder, sorted by name. With `recursive`, returns paths relative to the folder; symlinks are not followed.
   */
  readdir(path: string, options?: UserOptions & { recursive?: boolean; withFileTypes?: false }): Promise<string[]>;
  readdir(path: string, options: UserOptions & { recursive?: boolean; withFileTypes: true }): Promise<FSDirent[]>;
  /** Describes a file or folder; follows a symlink. */
  stat(path: string, options?: UserOptions): Promise<FSStats>;
  /** Describes a file, folder or symlink; does not follow a symlink. */
  lstat(path: string, options?: UserOptions): Promise<FSStats>;
  /** Checks only whether something exists at the path; `mode` has no effect. */
  access(path: string, mode?: number, options?: UserOptions): Promise<void>;
  /**
   * Creates a folder.
   *
   * @returns with `recursive`, the path if the folder is new (Node returns the first created folder); otherwise
   * undefined
   */
  mkdir(
    path: string,
    options?: number | (UserOptions & { recursive?: boolean; mode?: number }),
  ): Promise<string | undefined>;
  /** Creates a folder whose name is the prefix and six random characters. @returns its path */
  mkdtemp(prefix: string, options?: UserOptions): Promise<string>;
  /** Deletes a file; with `recursive`, also a folder. With `force`, a missing path is not an error. */
  rm(path: string, options?: UserOptions & { recursive?: boolean; force?: boolean }): Promise<void>;
  /** Deletes an empty folder. */
  rmdir(path: string, options?: UserOptions): Promise<void>;
  /** Deletes a file or symlink. */
  unlink(path: string, options?: UserOptions): Promise<void>;
  /** Moves a file or folder. What exists at `to` is replaced; a folder only if it is empty. */
  rename(from: string, to: string, options?: UserOptions): Promise<void>;
  /** Copies a file and its mode. The content is sent through this machine, because the runtime cannot copy. */
  copyFile(from: string, to: string, options?: UserOptions): Promise<void>;
  /** Yields the changes in a folder, until you leave the loop or the signal aborts. */
  watch(path: string, options?: UserOptions & { recursive?: boolean }): AsyncGenerator<FSWatchEvent>;
}

/** Creates the `fs` of a sandbox. @param object the sandbox, for errors */
export function createFS(files: Files, object: ObjectRef): SandboxFS {
  return { ...readingFS(files, object), ...changingFS(files, object) };
}

/** Names of these functions. */
type Reading = "readFile" | "readdir" | "stat" | "lstat" | "access" | "watch";

/** Creates these functions. */
function readingFS(files: Files, object: ObjectRef): Pick<SandboxFS, Reading> {
  return {
    readFile:
      ((path: string, options: ReadOptions) => asFS("open", path, () => readFile(files, path, options))) as SandboxFS[
        "readFile"
      ],
    readdir:
      ((path: string, options: ListOptions = {}) =>
        asFS("scandir", path, () => readdir(files, path, options))) as SandboxFS["readdir"],
    stat: (path, options = {}) => asFS("stat", path, () => follow(files, object, path, options)),
    lstat: (path, options = {}) => asFS("lstat", path, async () => statsOf(await files.stat(path, options))),
    access: async (path, _, options = {}) =>
      void await asFS("access", path, () => follow(files, object, path, options)),
    watch: (path, options = {}) => watch(files, object, path, options),
  };
}

type ReadOptions = FSEncoding | (UserOptions & { encoding?: FSEncoding | null }) | null | undefined;
type ListOptions = UserOptions & { recursive?: boolean; withFileTypes?: boolean };

async function readFile(files: Files, path: string, options: ReadOptions): Promise<string | Uint8Array> {
  const { encoding, signal, user } = typeof options === "string" ? { encoding: options } : options ?? {};
  const bytes = await files.read(path, { format: "bytes", signal, user });
  if (!encoding) return bytes;
  return encoding === "base64" ? base64Encode(bytes) : new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
}

async function readdir(files: Files, path: string, { recursive, withFileTypes, signal, user }: ListOptions) {
  const entries = await files.list(path, { depth: recursive ? Infinity : 1, signal, user });
  if (withFileTypes) return entries.map((entry) => direntOf(entry, path));
  return entries.map((entry) => relativeTo(path, entry.path));
}

async function follow(files: Files, object: ObjectRef, path: string, options: UserOptions): Promise<FSStats> {
  const { signal, user } = options;
  const entry = await files.stat(path, { signal, user });
  if (entry.type !== "symlink") return statsOf(entry);
  const action = `Cannot look at ${JSON.stringify(path)}`;
  if (entry.target === undefined) {
    throw new AuthorizationError(`${action}: it cannot be followed, or leads out of the root`, { object });
  }
  const target = await files.stat(entry.target, { signal, user });
  if (target.type !== "symlink") return statsOf(target);
  throw withCode(new ConflictError(`${action}: its links lead in a circle`, { object }), "ELOOP", "stat", path);
}

async function* watch(
  files: Files,
  object: ObjectRef,
  path: string,
  options: UserOptions & { recursive?: boolean },
): AsyncGenerator<FSWatchEvent> {
  try {
    for await (const event of files.watch(path, options)) {
      if (event.type !== "ready") yield watchEventOf(event, path, object);
    }
  } catch (error) {
    throw asFSError(error, "watch", path);
  }
}

function watchEventOf(
  event: Exclude<FileEvent, { type: "ready" }>,
  folder: string,
  object: ObjectRef,
): FSWatchEvent {
  switch (event.type) {
    case "gap":
      return { eventType: "rename", filename: null };
    case "incomplete": {
      const message = `Cannot watch ${JSON.stringify(event.path)}: there are more folders than can be watched`;
      throw withCode(new NotEnoughSpaceError(message, { object }), "ENOSPC", "watch", event.path);
    }
    default: {
      const filename = event.path === folder ? nameOf(folder) : relativeTo(folder, event.path);
      return { eventType: event.type === "modified" ? "change" : "rename", filename };
    }
  }
}

function relativeTo(folder: string, path: string): string {
  // A file "~" in the working directory has the path "./~".
  return path.slice(joinPath(folder, "").length).replace(/^\.\//, "");
}

/** Names of these functions. */
type Changing = "writeFile" | "mkdir" | "mkdtemp" | "rm" | "rmdir" | "unlink" | "rename" | "copyFile";

/** Creates these functions. */
function changingFS(files: Files, object: ObjectRef): Pick<SandboxFS, Changing> {
  const parts = { files, object };
  return {
    writeFile: (path, data, options) => asFS("open", path, () => writeFile(parts, path, data, options)),
    mkdir: (path, options) => asFS("mkdir", path, () => mkdir(parts, path, options)),
    mkdtemp: (prefix, options = {}) => asFS("mkdtemp", prefix, () => mkdtemp(files, prefix, options)),
    rm: (path, options = {}) => asFS("rm", path, () => rm(parts, path, options)),
    rmdir: (path, { signal, user } = {}) =>
      asFS("rmdir", path, async () => {
        const { type } = await files.stat(path, { signal, user });
        if (type !== "directory") throw hasCode("folder", "remove folder", "rmdir", path, object);
        await files.remove(path, { signal, user });
      }),
    unlink: (path, { signal, user } = {}) =>
      asFS("unlink", path, async () => {
        const { type } = await files.stat(path, { signal, user });
        if (type === "directory") throw hasCode("file", "unlink", "unlink", path, object);
        await files.remove(path, { signal, user });
      }),
    rename: (from, to, { signal, user } = {}) =>
      asFS("rename", from, () => files.rename(from, to, { replace: true, signal, user })),
    copyFile: (from, to, { signal, user } = {}) =>
      asFS("copyfile", from, async () => {
        const content = await files.read(from, { format: "stream", signal, user });
        const { target } = await files.stat(from, { signal, user });
        const { mode } = await files.stat(target ?? from, { signal, user });
        await files.write(to, content, { mode, signal, user });
      }),
  };
}

interface Parts {
  files: Files;
  object: ObjectRef;
}

async function writeFile({ files, object }: Parts, path: string, data: FileData, options: WriteOptions) {
  const { mode, encoding = "utf8", flag = "w", signal, user } = typeof options === "string" ? {} : options ?? {};
  const [text, name]: string[] = [typeof options === "string" ? options : encoding, JSON.stringify(path)];
  if (text !== "utf8" && text !== "utf-8") {
    throw new InvalidArgumentError(`Cannot write ${name}: encoding "${text}" is not utf8`, { object });
  }
  if (flag !== "w") throw new UnsupportedError(`Cannot write ${name}: flag "${flag}" is not "w"`, { object });
  await files.write(path, data, { mode, signal, user });
}
type WriteOptions = Parameters<SandboxFS["writeFile"]>[2];

async function mkdir({ files, object }: Parts, path: string, options: MakeOptions): Promise<string | undefined> {
  const { recursive = false, mode, signal, user } = typeof options === "number" ? { mode: options } : options ?? {};
  const [name, parent] = [JSON.stringify(path), folderOf(path)];
  if (!recursive && parent !== "" && !await files.exists(parent, { signal, user })) {
    throw new FileNotFoundError(`Cannot make folder ${name}: the folder above is not there`, { object });
  }
  const isNew = await files.makeDir(path, { mode, signal, user }).catch(async (error) => {
    const isTaken = error instanceof ConflictError && await files.exists(path, { signal, user });
    throw isTaken ? withCode(error, "EEXIST", "mkdir", path) : error;
  });
  if (!isNew && !recursive) throw new ConflictError(`Cannot make folder ${name}: it is there already`, { object });
  return isNew && recursive ? path : undefined;
}
type MakeOptions = Parameters<SandboxFS["mkdir"]>[1];

async function mkdtemp(files: Files, prefix: string, { signal, user }: UserOptions): Promise<string> {
  while (true) {
    const path = prefix + randomId().slice(0, 6);
    if (await files.makeDir(path, { mode: 0o700, signal, user })) return path;
  }
}

async function rm({ files, object }: Parts, path: string, options: RemoveOptions): Promise<void> {
  const { recursive = false, force = false, signal, user } = options;
  try {
    // As in Node, without `recursive` even an empty folder is not deleted.
    if (!recursive && (await files.stat(path, { signal, user })).type === "directory") {
      throw hasCode("file", "remove", "rm", path, object);
    }
    await files.remove(path, { recursive, signal, user });
  } catch (error) {
    if (!force || !(error instanceof FileNotFoundError)) throw error;
  }
}
type RemoveOptions = NonNullable<Parameters<SandboxFS["rm"]>[1]>;

function hasCode(
  wanted: "file" | "folder",
  verb: string,
  syscall: string,
  path: string,
  object: ObjectRef,
): SandboxError {
  const found = wanted === "file" ? "it is a folder" : "it is not a folder";
  const error = new InvalidArgumentError(`Cannot ${verb} ${JSON.stringify(path)}: ${found}`, { object });
  return withCode(error, wanted === "file" ? "EISDIR" : "ENOTDIR", syscall, path);
}

/** What an entry is. All methods return false for devices, sockets and pipes. */
export interface FSKind {
  /** Returns whether the entry is a regular file. */
  isFile(): boolean;
  /** Returns whether the entry is a folder. */
  isDirectory(): boolean;
  /** Returns whether the entry is a symlink. */
  isSymbolicLink(): boolean;
}

/** The part of `fs.Stats` that the runtime reports. */
export interface FSStats extends FSKind {
  /** Size in bytes. */
  size: number;
  /** File type and permissions, as in `fs.Stats`. `mode & 0o777` has only the permissions. */
  mode: number;
  mtime: Date;
  mtimeMs: number;
}

/** An entry of a folder, as `fs.Dirent`. */
export interface FSDirent extends FSKind {
  name: string;
  /** Path of the folder that contains the entry. */
  parentPath: string;
}

const TYPE_BITS = { file: 0o100000, directory: 0o040000, symlink: 0o120000, other: 0 };

/** Converts an entry to the equivalent of `fs.Stats`. */
function statsOf({ type, size, mode, modifiedAt }: Entry): FSStats {
  return {
    ...kindOf(type),
    size,
    mode: TYPE_BITS[type] | mode,
    mtime: modifiedAt,
    mtimeMs: modifiedAt.getTime(),
  };
}

/**
 * Converts an entry to the equivalent of `fs.Dirent`. @param folder path of the listed folder, as the caller wrote it
 */
function direntOf({ name, path, type }: Entry, folder: string): FSDirent {
  return { ...kindOf(type), name, parentPath: folderOf(path) || folder };
}

function kindOf(type: Entry["type"]): FSKind {
  return {
    isFile: () => type === "file",
    isDirectory: () => type === "directory",
    isSymbolicLink: () => type === "symlink",
  };
}
