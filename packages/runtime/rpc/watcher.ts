/**
 * Implements watcher.v1.FileWatcherService: collects changes in a folder for a moment, then reports what was created,
 * written, moved and removed.
 * @module
 */
import type { Stats } from "node:fs";
import { lstat } from "node:fs/promises";
import type { ServiceImpl } from "@connectrpc/connect";
import { entriesIn } from "../../process/bytepaths.ts";
import { isEscaped } from "../../process/filenames.ts";
import { FileEventType, type FileWatcherService } from "../../runtime-api/gen/watcher/v1/watcher_pb.ts";
import { codeOf, MissingError, type Root } from "../confine.ts";
import { createKernelCheck, type Folder, withFolder, withParent } from "../files/folder.ts";
import { type WatchEvent, watchFolder } from "../files/watch.ts";
import { wirePath } from "../http/httppath.ts";
import { codedError, throwIfBrokenOff } from "./lookup.ts";

/** Options of the service. */
interface WatcherServiceOptions {
  root: Root;
  /** Aborts when the runtime begins to stop; absent: the runtime never stops. */
  stop?: AbortSignal;
}

const TYPES: Record<Change["type"], FileEventType> = {
  create: FileEventType.CREATE,
  write: FileEventType.WRITE,
  remove: FileEventType.REMOVE,
  rename: FileEventType.RENAME,
  chmod: FileEventType.CHMOD,
  error: FileEventType.ERROR,
};

/** Creates the service. */
export function createWatcherService({ root, stop }: WatcherServiceOptions): ServiceImpl<typeof FileWatcherService> {
  return {
    watchDir: async function* ({ path, recursive }, { signal: left }) {
      const signal = stop ? AbortSignal.any([left, stop]) : left;
      try {
        const folder = await wirePath(root, path || ".");
        for await (const change of changesIn(root, folder, { recursive, signal })) yield messageOf(change);
      } catch (error) {
        throw codedError(error, path);
      }
      throwIfBrokenOff(left);
    },
  };
}

function messageOf(change: Change) {
  const { type, path } = change;
  const oldPath = type === "rename" ? change.oldPath : "";
  return { type: TYPES[type], path, oldPath, error: type === "error" ? change.error : "" };
}

/** A change. Paths are those that {@link Root.shown} returns. */
type Change =
  | { type: "create" | "write" | "remove" | "chmod"; path: string }
  | { type: "rename"; path: string; oldPath: string }
  | { type: "error"; path: string; error: string };

/** How to watch. */
interface ChangesOptions {
  recursive: boolean;
  signal?: AbortSignal;
  /** Changes are reported when there was no other change for this time, in milliseconds. @default {250} */
  quietMs?: number;
}

/** How many files are remembered. A move of any other file is reported as a removal and a new file. */
export const MOST_KNOWN = 100_000;
const LOST = "some events are lost: list the folder again";
const NOT_WATCHED = "the folder may not be read, or there are too many: changes below this folder are not reported";

/** The kind of the event for a path. */
export type ChangeKind = "created" | "modified" | "removed";
/** The last known state of each path. */
export type LastStates = Map<string, Stats>;

/**
 * Watches the folder `path`; ends when it is removed.
 *
 * @throws {OutsideError | MissingError | InvalidPathError} MissingError also for a file
 */
async function* changesIn(root: Root, path: string, options: ChangesOptions): AsyncGenerator<Change> {
  const { recursive, quietMs = 250 } = options;
  const { parts } = await root.locate(path);
  const base = root.shown(parts);
  const prefix = base === "." ? "" : base.replace(/\/?$/, "/");
  const leaving = new AbortController();
  const signal = options.signal ? AbortSignal.any([options.signal, leaving.signal]) : leaving.signal;
  const events = await watchFolder(root, path, { recursive, signal });
  const known: LastStates = new Map();
  try {
    const reading = { known, recursive, isOfKernel: createKernelCheck() };
    await withFolder(root, { parts, wanted: path }, (folder) => readStates(reading, folder, prefix));
    remember(known, base, await statsAt(root, base));
    for await (const batch of inBatches(events, quietMs)) {
      const kinds = new Map<string, ChangeKind>();
      for (const event of batch) {
        if (event.type === "overflow") yield { type: "error", path: base, error: LOST };
        else if ("path" in event) {
          const at = event.path === "." ? base : prefix + event.path;
          if (event.type === "incomplete") yield { type: "error", path: at, error: NOT_WATCHED };
          // A new file stays "created", even if it is written afterwards.
          else if (kinds.get(at) !== "created" || event.type === "removed") kinds.set(at, event.type);
        }
      }
      for (const change of await changesOf(root, known, kinds)) yield withUtf8Names(change);
    }
  } finally {
    // Without the abort, return() would wait for the next event.
    leaving.abort();
    await events.return(undefined);
  }
}

/** If there is always another change, changes are reported after this time, in milliseconds. */
const LONGEST_MS = 5000;

/** Yields events in batches. A batch ends when there was no event for `quietMs`. */
async function* inBatches(events: AsyncGenerator<WatchEvent>, quietMs: number): AsyncGenerator<WatchEvent[]> {
  const ask = () => {
    const asked = events.next();
    // The caller handles a failure, but only later. Until then it must not count as an unhandled rejection.
    asked.catch(() => {});
    return asked;
  };
  for (let next = ask();;) {
    const { done, value } = await next;
    if (done) return;
    const batch = [value];
    const begun = performance.now();
    next = ask();
    while (performance.now() - begun < LONGEST_MS) {
      const more = await within(quietMs, next);
      if (!more || more.done) break;
      batch.push(more.value);
      next = ask();
    }
    yield batch;
  }
}

/** Waits for a promise, at most `ms` milliseconds. Undefined: it has not resolved in this time. */
export async function within<T>(ms: number, coming: Promise<T>): Promise<T | undefined> {
  const { promise: late, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(resolve, ms, undefined);
  try {
    return await Promise.race([coming, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** What is read of the state before the first change. */
interface Reading {
  known: LastStates;
  recursive: boolean;
  isOfKernel: ReturnType<typeof createKernelCheck>;
}

/** Remembers the states of what is in a folder. @param prefix of the paths */
export async function readStates(reading: Reading, folder: Folder, prefix: string): Promise<void> {
  const { known, recursive, isOfKernel } = reading;
  for await (const { name, isDirectory } of entriesIn(folder.here)) {
    const path = prefix + name;
    const stats = await lstat(folder.at(name)).catch(() => undefined);
    if (!stats || known.size >= MOST_KNOWN) continue;
    known.set(path, stats);
    if (!isDirectory || !recursive || await isOfKernel(stats.dev, folder.at(name))) continue;
    await folder.within(name, (child) => readStates(reading, child, `${path}/`)).catch((error) => {
      // The folder was removed during the scan, or may not be read.
      if (!(error instanceof MissingError) && !["ENOENT", "EACCES"].includes(codeOf(error) ?? "")) throw error;
    });
  }
}

/** Compares the present state of these paths with the last known state, and updates `known`. */
export async function changesOf(root: Root, known: LastStates, kinds: Map<string, ChangeKind>): Promise<Change[]> {
  const gone = new Map<string, string>();
  const found = new Map<string, Stats>();
  for (const path of kinds.keys()) {
    const stats = await statsAt(root, path);
    const before = known.get(path);
    if (stats) found.set(path, stats);
    else if (before) gone.set(idOf(before), path);
  }
  const changes: Change[] = [];
  const moved = new Set<string>();
  for (const [path, stats] of found) {
    const oldPath = known.has(path) ? undefined : gone.get(idOf(stats));
    if (oldPath === undefined) continue;
    gone.delete(idOf(stats));
    for (const below of moveStates(known, oldPath, path)) moved.add(below);
    changes.push({ type: "rename", path, oldPath });
  }
  for (const [path, kind] of kinds) {
    const [stats, before] = [found.get(path), known.get(path)];
    if (moved.has(path)) continue;
    if (stats) changes.push({ type: changeType(kind, before, stats), path });
    else if (before || kind === "removed" && known.size >= MOST_KNOWN) {
      changes.push({ type: "remove", path });
    }
    remember(known, path, stats);
  }
  return changes;
}

async function statsAt(root: Root, path: string): Promise<Stats | undefined> {
  const look = (folder: Folder, name: string | undefined) => lstat(name === undefined ? root.path : folder.at(name));
  return await withParent(root, path, { followLast: false }, look).catch(() => undefined);
}

function changeType(kind: ChangeKind, before: Stats | undefined, now: Stats): "create" | "write" | "chmod" {
  if (!before) return "create";
  if (before.ino !== now.ino || before.mtimeMs !== now.mtimeMs || before.size !== now.size) return "write";
  if (before.ctimeMs !== now.ctimeMs) return "chmod";
  // `known` already has the state after the change.
  return kind === "created" ? "create" : "write";
}

function remember(known: LastStates, path: string, stats: Stats | undefined): void {
  if (stats && (known.has(path) || known.size < MOST_KNOWN)) known.set(path, stats);
  if (!stats) known.delete(path);
}

/** Moves the known states of a path, and of all paths below it, to the new path. Returns the new paths. */
export function moveStates(known: LastStates, from: string, to: string): string[] {
  const all = [...known].filter(([path]) => path === from || path.startsWith(`${from}/`));
  return all.map(([path, stats]) => {
    known.delete(path);
    const now = to + path.slice(from.length);
    known.set(now, stats);
    return now;
  });
}

/** Identifies a file. The inode number is not enough, because a new file can get the number of a deleted one. */
export function idOf({ dev, ino, birthtimeMs }: Stats): string {
  return `${dev} ${ino} ${birthtimeMs}`;
}

/** Replaces a change by an error if a name is not UTF-8, because a message cannot contain such a name. */
function withUtf8Names(change: Change): Change {
  const name = [change.path, change.type === "rename" ? change.oldPath : ""].find(isEscaped);
  if (name === undefined) return change;
  return { type: "error", path: "", error: `${change.type} of ${JSON.stringify(name)}, whose name is not UTF-8` };
}
