/** Extended attributes of files, which Node cannot read or write: by the functions of the system's C library. @module */
import { Buffer } from "node:buffer";
import { createRequire } from "node:module";
import { getSystemErrorName } from "node:util";
import { ON_DENO } from "../../process/runprocess.ts";

/** The interface of koffi 3.3.4, as far as it is used here. */
interface Koffi {
  load(path: null): { func(prototype: string): (...args: unknown[]) => number | bigint };
  errno(): number;
}

interface Library {
  list(path: string, into: Buffer, size: number): number;
  get(path: string, name: string, into: Buffer, size: number): number;
  set(path: string, name: string, value: Buffer, size: number): number;
  /** Name of the last error, such as `ENOTSUP`. */
  error(): string;
}

let library: Library | undefined | "none";

/** Loads the native module at the first use. Without it, files have no extended attributes. */
function load(): Library | undefined {
  library ??= tryLoad() ?? "none";
  return library === "none" ? undefined : library;
}

function tryLoad(): Library | undefined {
  if (ON_DENO) return undefined;
  try {
    const koffi = createRequire(import.meta.url)("koffi") as Koffi;
    const libc = koffi.load(null);
    const list = libc.func("long llistxattr(const char *path, _Out_ void *list, ulong size)");
    const get = libc.func("long lgetxattr(const char *path, const char *name, _Out_ void *value, ulong size)");
    const set = libc.func("int setxattr(const char *path, const char *name, const void *value, ulong size, int flags)");
    return {
      list: (...args) => Number(list(...args)),
      get: (...args) => Number(get(...args)),
      set: (...args) => Number(set(...args, 0)),
      error: () => getSystemErrorName(-koffi.errno()),
    };
  } catch {
    return undefined;
  }
}

/** What a kernel allows: all names of a file, and one value. */
const MOST_BYTES = 64 * 1024;
let buffer: Buffer | undefined;

/**
 * Reads the attributes whose names begin with `prefix`, without the prefix. A symlink is not followed. Empty if the file
 * system has none, or the file cannot be read.
 */
export function readAttributes(path: string, prefix: string): Record<string, string> {
  const attributes: Record<string, string> = {};
  const libc = load();
  if (!libc) return attributes;
  buffer ??= Buffer.alloc(MOST_BYTES);
  const length = libc.list(path, buffer, buffer.length);
  const names = length > 0 ? buffer.toString("utf8", 0, length).split("\0") : [];
  for (const name of names.filter((name) => name.startsWith(prefix))) {
    const size = libc.get(path, name, buffer, buffer.length);
    if (size >= 0) attributes[name.slice(prefix.length)] = buffer.toString("utf8", 0, size);
  }
  return attributes;
}

/** Why an attribute was not written. */
class AttributeError extends Error {
  readonly code: string;
  constructor(name: string, code: string) {
    super(`Cannot set attribute ${name}: ${code}`);
    this.code = code;
  }
}

/**
 * Sets attributes. Does nothing if the file system has none.
 *
 * @param path a symlink is followed
 * @param prefix of the names
 * @returns whether they were set
 * @throws {Error} with the system's code, such as ENOSPC
 */
export function writeAttributes(path: string, prefix: string, attributes: Record<string, string>): boolean {
  const libc = load();
  if (!libc) return false;
  for (const [name, text] of Object.entries(attributes)) {
    const value = Buffer.from(text);
    if (libc.set(path, prefix + name, value, value.length) === 0) continue;
    const code = libc.error();
    if (["ENOTSUP", "EOPNOTSUPP", "ENOSYS"].includes(code)) return false;
    throw new AttributeError(prefix + name, code);
  }
  return true;
}
