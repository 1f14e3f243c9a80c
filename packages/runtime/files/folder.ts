/** Keeps a folder of the root open while it is used, so that no symlink can replace a parent folder. @module */
import { constants } from "node:fs";
import { type FileHandle, lstat, mkdir, open, readlink, statfs } from "node:fs/promises";
import { join } from "node:path";
import { bytePath, type FSPath, readTarget } from "../../process/bytepaths.ts";
import { codeOf, missing, outside, type ResolveOptions, type Root } from "../confine.ts";

/**
 * A folder that is kept open. `at(name)` is the path of a child through the open descriptor: even if parent folders are
 * renamed, it remains the child of this folder. The child itself may be a symlink, so open it with `O_NOFOLLOW` and
 * read its state with `lstat`.
 */
export interface Folder {
  /** Path of the folder itself, for `readdir` and similar functions. */
  here: FSPath;
  /** Whether the folder is open. If false, only its path is known. */
  held: boolean;
  at(name: string): FSPath;
  /** Calls `use` with a subfolder that is kept open in the same way. @throws {MissingError} if it is not a folder */
  within<T>(name: string, use: (child: Folder) => Promise<T>): Promise<T>;
}

/** The folder to open. */
interface Target {
  /** Names from the root to the folder. */
  parts: string[];
  /** The path in the caller's request, for messages. */
  wanted: string;
  /** Whether to create missing folders. */
  make?: boolean;
}

// Linux only: such a descriptor can only be used to reach children, and needs no permission to list the folder.
const O_PATH = 0o10000000;
const FOLDER_FLAGS = O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/**
 * Calls `use` with the folder at `parts`, which is kept open. Each folder on the way is opened below the previous one,
 * without following symlinks.
 *
 * If `/proc` cannot be used (Deno with limited permissions, or a system other than Linux), each folder is checked by
 * its path instead. A process that renames folders at the right moment can bypass that check; in Deno, Deno's own
 * permissions then protect the files outside.
 *
 * @throws {OutsideError | MissingError}
 */
export async function withFolder<T>(root: Root, target: Target, use: (folder: Folder) => Promise<T>): Promise<T> {
  return await canPin(root.path) ? await withPinned(root, target, use) : await use(await checkedFolder(root, target));
}

/**
 * Calls `use` with the parent folder of `path` and the last name in it. Unless `followLast` is false, that name is not
 * a symlink.
 *
 * @param use for the root, which has no parent, `name` is undefined and `folder` is the root itself
 * @throws {OutsideError | MissingError | InvalidPathError}
 */
export async function withParent<T>(
  root: Root,
  path: string,
  options: ResolveOptions & { make?: boolean },
  use: (folder: Folder, name: string | undefined, parts: string[]) => Promise<T>,
): Promise<T> {
  const { parts } = await root.locate(path, options);
  const target = { parts: parts.slice(0, -1), wanted: path, make: options.make ?? false };
  return await withFolder(root, target, (folder) => use(folder, parts.at(-1), parts));
}

async function withPinned<T>(root: Root, target: Target, use: (folder: Folder) => Promise<T>): Promise<T> {
  let handle = await open(root.path, FOLDER_FLAGS);
  try {
    for (const name of target.parts) {
      const next = await openChild(childOf(handle, name), target);
      await handle.close();
      handle = next;
    }
    await checkStillInside(root, handle, target.wanted);
    return await use(pinnedFolder(handle));
  } finally {
    await handle.close();
  }
}

function pinnedFolder(handle: FileHandle): Folder {
  return {
    here: `/proc/self/fd/${handle.fd}`,
    held: true,
    at: (name) => childOf(handle, name),
    within: async (name, use) => {
      const child = await openChild(childOf(handle, name), { wanted: name });
      try {
        return await use(pinnedFolder(child));
      } finally {
        await child.close();
      }
    },
  };
}

function childOf(handle: FileHandle, name: string): FSPath {
  return bytePath(`/proc/self/fd/${handle.fd}/${name}`);
}

async function openChild(path: FSPath, { make, wanted }: Pick<Target, "make" | "wanted">): Promise<FileHandle> {
  try {
    return await open(path, FOLDER_FLAGS);
  } catch (error) {
    if (codeOf(error) !== "ENOENT" || !make) throw whyNoFolder(error, wanted);
  }
  await makeChild(path);
  return await open(path, FOLDER_FLAGS).catch((error) => {
    throw whyNoFolder(error, wanted);
  });
}

/** Another process may create the same folder at the same time. */
async function makeChild(path: FSPath): Promise<void> {
  await mkdir(path).catch((error) => {
    if (codeOf(error) !== "EEXIST") throw error;
  });
}

/** All names were folders a moment ago, so a name that is now missing, a file or a symlink has just been replaced. */
function whyNoFolder(error: unknown, wanted: string): unknown {
  const code = codeOf(error);
  return code === "ENOENT" || code === "ENOTDIR" || code === "ELOOP" ? missing(wanted) : error;
}

/** The folder may have been moved out of the root while it was being opened. */
async function checkStillInside(root: Root, handle: FileHandle, wanted: string): Promise<void> {
  const real = await readTarget(`/proc/self/fd/${handle.fd}`);
  const prefix = root.path.endsWith("/") ? root.path : `${root.path}/`;
  if (real !== root.path && !real.startsWith(prefix)) throw outside(wanted);
}

async function checkedFolder(root: Root, { parts, wanted, make }: Target): Promise<Folder> {
  let path = root.path;
  for (const name of parts) {
    path = join(path, name);
    // Deno may refuse to make a folder that exists, outside of the folders in which it may write.
    if (make && !await lstat(bytePath(path)).then(() => true, () => false)) await makeChild(bytePath(path));
    await checkFolder(path, wanted);
  }
  return plainFolder(path);
}

function plainFolder(path: string): Folder {
  return {
    here: bytePath(path),
    held: false,
    at: (name) => bytePath(join(path, name)),
    within: async (name, use) => {
      await checkFolder(join(path, name), name);
      return await use(plainFolder(join(path, name)));
    },
  };
}

async function checkFolder(path: string, wanted: string): Promise<void> {
  const found = await lstat(bytePath(path)).catch((error) => {
    throw whyNoFolder(error, wanted);
  });
  if (!found.isDirectory()) throw missing(wanted);
}

/** Magic numbers of statfs(2): proc, sysfs, cgroup, cgroup2, debugfs, tracefs, securityfs, bpf, devpts, configfs, … */
const KERNEL_TYPES = new Set([
  ...[0x9fa0, 0x62656572, 0x27e0eb, 0x63677270, 0x64626720, 0x74726163, 0x73636673, 0xcafe4a11, 0x1cd1, 0x62656570],
  ...[0x19800202, 0x6165676c, 0xde5e81e4, 0x6e736673, 0x42494e4d, 0xf97cff8c],
]);

/**
 * Returns whether a folder is in a file system of the kernel, such as `/proc` and `/sys`. Such a file system has any
 * number of folders, and its files may be endless, so what visits all levels leaves it out.
 */
export async function isOfKernel(folder: FSPath): Promise<boolean> {
  // Deno lacks permissions for statfs().
  return await statfs(folder).then(({ type }) => KERNEL_TYPES.has(type), () => false);
}

/** As {@link isOfKernel}, but asks only once for each device. @param dev the folder's device, as `stat` reports it */
export function createKernelCheck(): (dev: number, folder: FSPath) => Promise<boolean> {
  const known = new Map<number, Promise<boolean>>();
  return (dev, folder) => known.get(dev) ?? known.set(dev, isOfKernel(folder)).get(dev)!;
}

let pinning: Promise<boolean> | undefined;

/** Returns whether folders can be reached through `/proc/self/fd`. Checked once per process. */
function canPin(path: string): Promise<boolean> {
  return pinning ??= (async () => {
    try {
      const handle = await open(path, FOLDER_FLAGS);
      try {
        return await readlink(`/proc/self/fd/${handle.fd}`) === path;
      } finally {
        await handle.close();
      }
    } catch {
      return false;
    }
  })();
}
