/** The functions of `sandbox.fs` that change files. @module */
import { randomId } from "../runtime/randomid.ts";
import type { CallOptions } from "../runtime/call.ts";
import {
  ConflictError,
  FileNotFoundError,
  InvalidArgumentError,
  type ObjectRef,
  SandboxError,
  UnsupportedError,
} from "../errors.ts";
import type { Files } from "./files.ts";
import type { SandboxFS } from "./fs.ts";
import { asFS, withCode } from "./fserrors.ts";
import { folderOf } from "./paths.ts";
import type { FileData } from "./write.ts";

/** Names of these functions. */
type Changing = "writeFile" | "mkdir" | "mkdtemp" | "rm" | "rmdir" | "unlink" | "rename" | "copyFile";

/** Creates these functions. */
export function changingFS(files: Files, object: ObjectRef): Pick<SandboxFS, Changing> {
  const parts = { files, object };
  return {
    writeFile: (path, data, options) => asFS("open", path, () => writeFile(parts, path, data, options)),
    mkdir: (path, options) => asFS("mkdir", path, () => mkdir(parts, path, options)),
    mkdtemp: (prefix, options = {}) => asFS("mkdtemp", prefix, () => mkdtemp(files, prefix, options)),
    rm: (path, options = {}) => asFS("rm", path, () => rm(parts, path, options)),
    rmdir: (path, { signal } = {}) =>
      asFS("rmdir", path, async () => {
        const { type } = await files.stat(path, { signal });
        if (type !== "directory") throw isNo("folder", "remove folder", "rmdir", path, object);
        await files.remove(path, { signal });
      }),
    unlink: (path, { signal } = {}) =>
      asFS("unlink", path, async () => {
        const { type } = await files.stat(path, { signal });
        if (type === "directory") throw isNo("file", "unlink", "unlink", path, object);
        await files.remove(path, { signal });
      }),
    rename: (from, to, { signal } = {}) =>
      asFS("rename", from, () => files.rename(from, to, { replace: true, signal })),
    copyFile: (from, to, { signal } = {}) =>
      asFS("copyfile", from, async () => {
        const content = await files.read(from, { format: "stream", signal });
        const { target } = await files.stat(from, { signal });
        const { mode } = await files.stat(target ?? from, { signal });
        await files.write(to, content, { mode, signal });
      }),
  };
}

interface Parts {
  files: Files;
  object: ObjectRef;
}

async function writeFile({ files, object }: Parts, path: string, data: FileData, options: WriteOptions) {
  const { mode, encoding = "utf8", flag = "w", signal } = typeof options === "string" ? {} : options ?? {};
  const [text, name]: string[] = [typeof options === "string" ? options : encoding, JSON.stringify(path)];
  if (text !== "utf8" && text !== "utf-8") {
    throw new InvalidArgumentError(`Cannot write ${name}: encoding "${text}" is not utf8`, { object });
  }
  if (flag !== "w") throw new UnsupportedError(`Cannot write ${name}: flag "${flag}" is not "w"`, { object });
  await files.write(path, data, { mode, signal });
}
type WriteOptions = Parameters<SandboxFS["writeFile"]>[2];

async function mkdir({ files, object }: Parts, path: string, options: MakeOptions): Promise<string | undefined> {
  const { recursive = false, mode, signal } = typeof options === "number" ? { mode: options } : options ?? {};
  const [name, parent] = [JSON.stringify(path), folderOf(path)];
  if (!recursive && parent !== "" && !await files.exists(parent, { signal })) {
    throw new FileNotFoundError(`Cannot make folder ${name}: the folder above is not there`, { object });
  }
  const isNew = await files.makeDir(path, { mode, signal }).catch(async (error) => {
    const isTaken = error instanceof ConflictError && await files.exists(path, { signal });
    throw isTaken ? withCode(error, "EEXIST", "mkdir", path) : error;
  });
  if (!isNew && !recursive) throw new ConflictError(`Cannot make folder ${name}: it is there already`, { object });
  return isNew && recursive ? path : undefined;
}
type MakeOptions = Parameters<SandboxFS["mkdir"]>[1];

async function mkdtemp(files: Files, prefix: string, { signal }: CallOptions): Promise<string> {
  while (true) {
    const path = prefix + randomId().slice(0, 6);
    if (await files.makeDir(path, { mode: 0o700, signal })) return path;
  }
}

async function rm({ files, object }: Parts, path: string, options: RemoveOptions): Promise<void> {
  const { recursive = false, force = false, signal } = options;
  try {
    // As in Node, without `recursive` even an empty folder is not deleted.
    if (!recursive && (await files.stat(path, { signal })).type === "directory") {
      throw isNo("file", "remove", "rm", path, object);
    }
    await files.remove(path, { recursive, signal });
  } catch (error) {
    if (!force || !(error instanceof FileNotFoundError)) throw error;
  }
}
type RemoveOptions = NonNullable<Parameters<SandboxFS["rm"]>[1]>;

function isNo(wanted: "file" | "folder", verb: string, syscall: string, path: string, object: ObjectRef): SandboxError {
  const found = wanted === "file" ? "it is a folder" : "it is not a folder";
  const error = new InvalidArgumentError(`Cannot ${verb} ${JSON.stringify(path)}: ${found}`, { object });
  return withCode(error, wanted === "file" ? "EISDIR" : "ENOTDIR", syscall, path);
}
