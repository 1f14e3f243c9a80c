/**
 * Watches a folder, and its subfolders if requested, except for file systems of the kernel. Symlinks are reported, but not
 * followed.
 * @module
 */
import { type FSWatcher, type Stats, watch } from "node:fs";
import { lstat, stat } from "node:fs/promises";
import { basename } from "node:path";
import { ALIVE_MS } from "../../api/router/protocol.ts";
import { entriesIn } from "../../process/bytepaths.ts";
import { textOfName } from "../../process/filenames.ts";
import { ON_DENO } from "../../process/runprocess.ts";
import { codeOf, MissingError, type Root } from "../confine.ts";
import { createKernelCheck, type Folder, withFolder } from "./folder.ts";
import { entryOf, type EntryType } from "./list.ts";
import { TEMPORARY_PREFIX } from "./write.ts";

/**
 * A change. `path` is relative to the watched folder.
 *
 * | type | meaning |
 * |---|---|
 * | `ready` | all changes after this event are reported |
 * | `created` | the name is new, or now names another file (also after a rename); may be reported twice |
 * | `modified` | content, mode or times changed |
 * | `removed` | the file no longer exists; with `path` ".", the watch ends |
 * | `overflow` | the reader was too slow and events were lost: list the folder again |
 * | `incomplete` | `path` may not be read, or there are too many folders: changes below it are not reported |
 * | `alive` | nothing happened for a while |
 */
export type WatchEvent =
  | { type: "ready" | "overflow" | "alive" }
  | { type: "created"; path: string; kind: EntryType }
  | { type: "modified" | "removed" | "incomplete"; path: string };

/**
 * One event of the system, for callers that need each of them. `stats` is the state after the event, or after a later one;
 * undefined: nothing exists at the path.
 *
 * | `kind` | meaning |
 * |---|---|
 * | `rename` | the name appeared or disappeared, or another file took its place |
 * | `change` | content, mode or times changed |
 */
export interface NameChange {
  type: "name";
  kind: "rename" | "change";
  path: string;
  stats: Stats | undefined;
  /** Whether other events of the system wait to be handled. */
  hasMore: boolean;
}

/** Options of a watch. */
export interface WatchOptions {
  recursive: boolean;
  /** Ends the watch. */
  signal?: AbortSignal;
  /** Milliseconds without an event until `alive`. @default {15000} */
  aliveMs?: number;
  /** Largest number of events that wait for the reader. @default {4096} */
  mostWaiting?: number;
}

/**
 * Watches the folder `path`. The first event is `ready`. Returning the generator ends the watch.
 *
 * @throws {OutsideError | MissingError | InvalidPathError} MissingError also for a file
 */
export async function watchFolder(
  root: Root,
  path: string,
  options: WatchOptions,
): Promise<AsyncGenerator<WatchEvent>> {
  return await watchAt(root, path, options, false) as AsyncGenerator<WatchEvent>;
}

/** As {@link watchFolder}, but yields a {@link NameChange} for each event of the system in place of what it amounts to. */
export async function watchNames(
  root: Root,
  path: string,
  options: WatchOptions,
): Promise<AsyncGenerator<NameChange | Exclude<WatchEvent, { type: "created" | "modified" }>>> {
  return await watchAt(root, path, options, true) as Awaited<ReturnType<typeof watchNames>>;
}

async function watchAt(root: Root, path: string, options: WatchOptions, eachName: boolean) {
  const { parts } = await root.locate(path);
  const { recursive, signal, mostWaiting = 4096, aliveMs = ALIVE_MS } = options;
  const queue = createEventQueue<WatchEvent | NameChange>({
    most: mostWaiting,
    overflow: { type: "overflow" },
    idle: { type: "alive" },
    idleMs: aliveMs,
  });
  let isReady = false;
  const watching: Watch = {
    root,
    base: parts,
    recursive,
    eachName,
    // What happens before the first event is in the list that the reader makes after it.
    push: (event) => {
      if (isReady || event.type === "incomplete") queue.push(event);
    },
    end: queue.end,
    folders: new Map(),
    isOfKernel: createKernelCheck(),
    leftOut: 0,
    pending: new Set(),
    waiting: 0,
    last: Promise.resolve(),
  };
  const close = () => {
    queue.end();
    for (const { watcher } of watching.folders.values()) watcher.close();
    watching.folders.clear();
  };
  try {
    await withFolder(root, { parts, wanted: path }, (folder) => addFolder(watching, folder, "", false));
  } catch (error) {
    close();
    throw error;
  }
  isReady = true;
  queue.push({ type: "ready" });
  signal?.addEventListener("abort", close, { once: true });
  if (signal?.aborted) close();
  return takeUntilClosed(queue.take(), () => {
    signal?.removeEventListener("abort", close);
    close();
  });
}

async function* takeUntilClosed<T>(events: AsyncGenerator<T>, close: () => void): AsyncGenerator<T> {
  try {
    yield* events;
  } finally {
    close();
  }
}

/** One watch. Folders are identified by their path relative to `base`; "" is `base` itself. */
interface Watch {
  root: Root;
  base: string[];
  recursive: boolean;
  /** Whether each event of the system is reported. */
  eachName: boolean;
  push(event: WatchEvent | NameChange): void;
  end(): void;
  folders: Map<string, WatchedFolder>;
  isOfKernel: ReturnType<typeof createKernelCheck>;
  /** Number of folders that are not watched. */
  leftOut: number;
  /** Events that wait to be handled. A file that is written in a thousand pieces is then checked only a few times. */
  pending: Set<string>;
  /** Number of events that wait to be handled. */
  waiting: number;
  /** Settles when all earlier events are handled. Events are handled one after another, so they stay in order. */
  last: Promise<void>;
}

interface WatchedFolder {
  watcher: FSWatcher;
  inode: number;
  /** The name under which the system reports the folder itself: the last part of the path that it was given. */
  selfName: string;
  /**
   * The names in the folder; only in Deno, whose watcher also reports changes in subfolders, by name without a path.
   */
  names: Set<string> | undefined;
}

const MOST_FOLDERS = 8192;
const MOST_PENDING = 8192;
const MOST_NAMED = 100;

/** Starts to watch a folder before reading its content, so that files created in between are not missed. */
async function addFolder(watching: Watch, folder: Folder, path: string, isNew: boolean): Promise<void> {
  if (watching.folders.has(path) || !await startWatching(watching, folder, path)) return;
  const names = watching.folders.get(path)?.names;
  if (!watching.recursive && !names) return;
  for await (const entry of entriesIn(folder.here)) {
    names?.add(entry.name);
    if (!watching.recursive) continue;
    const child = joinPath(path, entry.name);
    if (isNew) await handleName(watching, folder, { path: child, name: entry.name, kind: "rename" });
    else if (entry.isDirectory) await enterFolder(watching, folder, entry.name, child, false);
  }
}

async function enterFolder(watching: Watch, folder: Folder, name: string, path: string, isNew: boolean): Promise<void> {
  try {
    await folder.within(name, (child) => addFolder(watching, child, path, isNew));
  } catch (error) {
    if (codeOf(error) === "EACCES") return leaveOut(watching, path);
    // The folder was deleted again.
    if (!(error instanceof MissingError) && codeOf(error) !== "ENOENT") throw error;
  }
}

async function startWatching(watching: Watch, folder: Folder, path: string): Promise<boolean> {
  const { ino, dev } = await stat(folder.here);
  if (path !== "" && await watching.isOfKernel(dev, folder.here)) return false;
  const names = folder.held ? undefined : new Set<string>();
  try {
    if (watching.folders.size >= MOST_FOLDERS) throw new RangeError("too many folders");
    const onChange = (kind: string, name: string | Uint8Array | null) =>
      name !== null && enqueue(watching, path, kind, typeof name === "string" ? name : textOfName(name));
    // Deno cannot report names as bytes.
    const watcher = ON_DENO ? watch(folder.here, onChange) : watch(folder.here, { encoding: "buffer" }, onChange);
    watcher.on("error", () => {});
    watching.folders.set(path, { watcher, inode: ino, selfName: basename(String(folder.here)), names });
    return true;
  } catch (error) {
    if (path === "" || codeOf(error) === "ENOENT") throw error;
    leaveOut(watching, path);
    return false;
  }
}

/** Reports a folder that is not watched. After many of them, reports the whole folder once, so that no event is lost. */
function leaveOut(watching: Watch, path: string): void {
  const number = ++watching.leftOut;
  if (number <= MOST_NAMED) watching.push({ type: "incomplete", path: number < MOST_NAMED ? path : "." });
}

function enqueue(watching: Watch, folder: string, kind: string, name: string): void {
  if (name.startsWith(TEMPORARY_PREFIX)) return;
  const key = `${kind} ${folder}/${name}`;
  const { pending, eachName } = watching;
  if (pending.has(key) && !eachName) return;
  if (watching.waiting >= MOST_PENDING) return watching.push({ type: "overflow" });
  pending.add(key);
  watching.waiting++;
  watching.last = watching.last.then(async () => {
    pending.delete(key);
    watching.waiting--;
    await onEvent(watching, folder, kind, name).catch(() => watching.push({ type: "overflow" }));
  });
}

async function onEvent(watching: Watch, path: string, kind: string, name: string): Promise<void> {
  const watched = watching.folders.get(path);
  if (!watched) return;
  const parts = [...watching.base, ...path.split("/").filter(Boolean)];
  try {
    await withFolder(watching.root, { parts, wanted: path }, async (folder) => {
      if ((await stat(folder.here)).ino !== watched.inode) throw new MissingError();
      await handleName(watching, folder, {
        path: joinPath(path, name),
        name,
        kind,
        selfName: watched.selfName,
        names: watched.names,
      });
    });
  } catch (error) {
    if (!(error instanceof MissingError)) throw error;
    // The folder itself was deleted. For a subfolder, the watcher of its parent reports that.
    if (path !== "") return;
    watching.push({ type: "removed", path: "." });
    watching.end();
  }
}

interface NameEvent {
  path: string;
  name: string;
  /** The system's name of the event: `rename` if a name appeared or disappeared, otherwise `change`. */
  kind: string;
  selfName?: string;
  names?: Set<string> | undefined;
}

async function handleName(
  watching: Watch,
  folder: Folder,
  { path, name, kind, selfName, names }: NameEvent,
): Promise<void> {
  const stats = await lstat(folder.at(name)).catch(() => undefined);
  const { eachName } = watching;
  if (!stats) {
    if (name === selfName || (names && !names.delete(name))) return;
    forget(watching, path);
    return watching.push(eachName ? nameChange(watching, path, kind, stats) : { type: "removed", path });
  }
  names?.add(name);
  if (eachName) watching.push(nameChange(watching, path, kind, stats));
  else if (kind === "rename") watching.push({ type: "created", path, kind: entryOf(name, stats).type });
  else watching.push({ type: "modified", path });
  if (kind !== "rename") return;
  if (!stats.isDirectory() || !watching.recursive) return;
  if (watching.folders.get(path)?.inode !== stats.ino) forget(watching, path);
  await enterFolder(watching, folder, name, path, true);
}

function nameChange({ waiting }: Watch, path: string, kind: string, stats: Stats | undefined): NameChange {
  return { type: "name", kind: kind === "rename" ? "rename" : "change", path, stats, hasMore: waiting > 0 };
}

/** Stops watching a deleted folder and its subfolders. */
function forget({ folders }: Watch, path: string): void {
  for (const [known, { watcher }] of folders) {
    if (known !== path && !known.startsWith(`${path}/`)) continue;
    watcher.close();
    folders.delete(known);
  }
}

function joinPath(path: string, name: string): string {
  return path === "" ? name : `${path}/${name}`;
}

/** The queue. */
export interface EventQueue<T> {
  /** Adds an event. If the queue is full, all waiting events are replaced by `overflow`. */
  push(event: T): void;
  /** Ends the queue: no more events are accepted, and the reader ends after the waiting ones. */
  end(): void;
  /** Yields events as they arrive, and `idle` each time none arrived for `idleMs` milliseconds. */
  take(): AsyncGenerator<T>;
}

/** Size of the queue, and the events that it adds. */
export interface EventQueueOptions<T> {
  most: number;
  overflow: T;
  idle: T;
  idleMs: number;
}

/** Creates a queue for one reader. */
export function createEventQueue<T>({ most, overflow, idle, idleMs }: EventQueueOptions<T>): EventQueue<T> {
  let waiting: T[] = [];
  let ended = false;
  let wake = () => {};
  async function* take(): AsyncGenerator<T> {
    while (true) {
      while (waiting.length > 0) yield waiting.shift() as T;
      if (ended) return;
      let timer: ReturnType<typeof setTimeout> | undefined;
      const quiet = await new Promise<boolean>((resolve) => {
        wake = () => resolve(false);
        timer = setTimeout(() => resolve(true), idleMs);
      });
      clearTimeout(timer);
      if (quiet) yield idle;
    }
  }
  return {
    push: (event) => {
      if (ended) return;
      if (waiting.length >= most) waiting = [overflow];
      else waiting.push(event);
      wake();
    },
    end: () => {
      ended = true;
      wake();
    },
    take,
  };
}
