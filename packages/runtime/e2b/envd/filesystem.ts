/** filesystem.Filesystem, as E2B's clients call it. @module */
import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import { lstat } from "node:fs/promises";
import { bytePath, entriesIn } from "../../../process/bytepaths.ts";
import type { Filesystem } from "../../../runtime-api/gen/e2b/filesystem_pb.ts";
import { codeOf, MissingError, type Root } from "../../confine.ts";
import { createKernelCheck, type Folder, withFolder } from "../../files/folder.ts";
import { makeFolder, removePath, renamePath } from "../../files/manage.ts";
import { refusedFor } from "../../files/refused.ts";
import { codedError } from "../../rpc/lookup.ts";
import { describeEntry, type Entry, entryOf, readNames } from "./entry.ts";
import { absolutePath, shownPath } from "./paths.ts";

/** What the service needs. */
export interface FilesystemOptions {
  root: Root;
}

/** The methods that answer at once. */
type Unary = Pick<ServiceImpl<typeof Filesystem>, "stat" | "listDir" | "makeDir" | "move" | "remove">;

/** Creates the methods that answer at once; `watch.ts` has the others. */
export function createFilesystem({ root }: FilesystemOptions): Unary {
  return {
    stat: ({ path }) => withPath(root, path, async (at) => ({ entry: await describeEntry(root, at) })),
    listDir: ({ path, depth }) =>
      withPath(root, path, async (at) => ({ entries: await listTree(root, at, depth || 1) })),
    makeDir: ({ path }) =>
      withPath(root, path, async (at) => {
        const isNew = await makeFolder(root, at).catch((error) => {
          if (refusedFor(error, path)?.code !== "CONFLICT") throw error;
          throw new ConnectError(`path already exists but it is not a directory: ${path}`, Code.InvalidArgument);
        });
        if (!isNew) throw new ConnectError(`directory already exists: ${path}`, Code.AlreadyExists);
        return { entry: await describeEntry(root, at) };
      }),
    move: ({ source, destination }) =>
      withPath(root, source, async (from) => {
        const to = await absolutePath(root, destination);
        await renamePath(root, from, to, true);
        return { entry: await describeEntry(root, to) };
      }),
    remove: ({ path }) =>
      withPath(root, path, async (at) => {
        await removePath(root, at, true).catch((error) => {
          if (refusedFor(error, path)?.code !== "NOT_FOUND") throw error;
        });
        return {};
      }),
  };
}

/** Calls `use` with the absolute path. @throws {ConnectError} */
export async function withPath<T>(root: Root, path: string, use: (absolute: string) => Promise<T>): Promise<T> {
  try {
    return await use(await absolutePath(root, path));
  } catch (error) {
    const refused = refusedFor(error, path);
    if (refused?.code === "CONFLICT") throw new ConnectError(refused.message, Code.FailedPrecondition);
    throw codedError(error, path);
  }
}

/** Longest list, because it is one message. */
const MOST_ENTRIES = 100_000;

/**
 * Lists a folder and the levels below it, depth first and in the order of names, without the folder itself. If the folder is
 * a symlink, it is followed, but the paths in the list begin with the requested one. Symlinks below are not followed.
 */
async function listTree(root: Root, path: string, depth: number): Promise<Entry[]> {
  const { parts, path: real } = await root.locate(path);
  if (!(await lstat(bytePath(real))).isDirectory()) throw notAFolder(path);
  const entries: Entry[] = [];
  const names = readNames();
  const isOfKernel = createKernelCheck();
  const list = async (folder: Folder, below: string, left: number): Promise<void> => {
    for (const { name, isDirectory } of await sortedEntries(folder)) {
      const at = folder.at(name);
      const stats = await lstat(at).catch(() => undefined);
      // Deleted a moment ago.
      if (!stats) continue;
      if (entries.length >= MOST_ENTRIES) {
        throw new ConnectError(
          `${path} has more than ${MOST_ENTRIES} entries: list fewer levels`,
          Code.ResourceExhausted,
        );
      }
      const child = `${below === "/" ? "" : below}/${name}`;
      entries.push(await entryOf(root, { path: child, at }, stats, names));
      if (!isDirectory || left <= 1 || await isOfKernel(stats.dev, at)) continue;
      await folder.within(name, (inner) => list(inner, child, left - 1)).catch((error) => {
        if (!(error instanceof MissingError) && codeOf(error) !== "EACCES") throw error;
      });
    }
  };
  await withFolder(root, { parts, wanted: path }, (folder) => list(folder, shownPath(path), depth));
  return entries;
}

async function sortedEntries(folder: Folder) {
  const found: { name: string; isDirectory: boolean }[] = [];
  for await (const entry of entriesIn(folder.here)) found.push(entry);
  return found.sort((a, b) => a.name < b.name ? -1 : 1);
}

/** @throws always */
export function notAFolder(path: string): ConnectError {
  return new ConnectError(`path is not a directory: ${path}`, Code.InvalidArgument);
}
