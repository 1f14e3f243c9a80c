/** The functions of `sandbox.fs` that do not change files. @module */
import type { CallOptions } from "../runtime/call.ts";
import { base64Encode } from "@bufbuild/protobuf/wire";
import { AuthorizationError, ConflictError, NotEnoughSpaceError, type ObjectRef } from "../errors.ts";
import type { Files } from "./files.ts";
import type { FSEncoding, FSWatchEvent, SandboxFS } from "./fs.ts";
import { asFS, asFSError, withCode } from "./fserrors.ts";
import { direntOf, type FSStats, statsOf } from "./fsstats.ts";
import { joinPath, nameOf } from "./paths.ts";
import type { FileEvent } from "./watch.ts";

/** Names of these functions. */
type Reading = "readFile" | "readdir" | "stat" | "lstat" | "access" | "watch";

/** Creates these functions. */
export function readingFS(files: Files, object: ObjectRef): Pick<SandboxFS, Reading> {
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
    access: async (path) => void await asFS("access", path, () => follow(files, object, path, {})),
    watch: (path, options = {}) => watch(files, object, path, options),
  };
}

type ReadOptions = FSEncoding | (CallOptions & { encoding?: FSEncoding | null }) | null | undefined;
type ListOptions = CallOptions & { recursive?: boolean; withFileTypes?: boolean };

async function readFile(files: Files, path: string, options: ReadOptions): Promise<string | Uint8Array> {
  const { encoding, signal } = typeof options === "string" ? { encoding: options } : options ?? {};
  const bytes = await files.read(path, { format: "bytes", signal });
  if (!encoding) return bytes;
  return encoding === "base64" ? base64Encode(bytes) : new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
}

async function readdir(files: Files, path: string, { recursive, withFileTypes, signal }: ListOptions) {
  const entries = await files.list(path, { depth: recursive ? Infinity : 1, signal });
  if (withFileTypes) return entries.map((entry) => direntOf(entry, path));
  return entries.map((entry) => relativeTo(path, entry.path));
}

async function follow(files: Files, object: ObjectRef, path: string, { signal }: CallOptions): Promise<FSStats> {
  const entry = await files.stat(path, { signal });
  if (entry.type !== "symlink") return statsOf(entry);
  const action = `Cannot look at ${JSON.stringify(path)}`;
  if (entry.target === undefined) throw new AuthorizationError(`${action}: it leads out of the root`, { object });
  const target = await files.stat(entry.target, { signal });
  if (target.type !== "symlink") return statsOf(target);
  throw withCode(new ConflictError(`${action}: its links lead in a circle`, { object }), "ELOOP", "stat", path);
}

async function* watch(
  files: Files,
  object: ObjectRef,
  path: string,
  options: CallOptions & { recursive?: boolean },
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
  return path.slice(joinPath(folder, "").length);
}
