/** What changes in a folder, gathered for a moment and told once: new, written, moved, removed. Reads no content. @module */
import type { Stats } from "node:fs";
import { lstat } from "node:fs/promises";
import { entriesIn } from "../../process/bytepaths.ts";
import { isEscaped } from "../../process/filenames.ts";
import { codeOf, MissingError, type Root } from "../confine.ts";
import { type Folder, withFolder, withParent } from "./folder.ts";
import { type WatchEvent, watchFolder } from "./watch.ts";

/** A change. Paths are from the root on. */
export type Change =
  | { type: "create" | "write" | "remove" | "chmod"; path: string }
  | { type: "rename"; path: string; oldPath: string }
  | { type: "error"; path: string; error: string };

/** How to watch. */
export interface ChangesOptions {
  recursive: boolean;
  signal?: AbortSignal;
  /** For how long nothing must happen before changes are told, in milliseconds. @default {250} */
  quietMs?: number;
}

/** Files that are known: of more, a move is told as a removal and a new file. */
const MOST_KNOWN = 100_000;
const LOST = "events are lost: list the folder anew";
const NOT_WATCHED = "there are more folders than can be watched: nothing is told from here down";

/** What was told of a path. */
export type Kind = "created" | "modified" | "removed";
/** What is known of each path. */
export type Known = Map<string, Stats>;

/**
 * Watches the folder `path`; ends when it is removed.
 *
 * @throws {OutsideError | MissingError | InvalidPathError} MissingError also for a file
 */
export async function* changesIn(root: Root, path: string, options: ChangesOptions): AsyncGenerator<Change> {
  const { recursive, quietMs = 250 } = options;
  const { parts } = await root.locate(path);
  const base = parts.join("/") || ".";
  const leaving = new AbortController();
  const signal = options.signal ? AbortSignal.any([options.signal, leaving.signal]) : leaving.signal;
  const events = await watchFolder(root, path, { recursive, signal });
  const known: Known = new Map();
  try {
    await withFolder(root, { parts, wanted: path }, (folder) => scan(known, folder, parts.join("/"), recursive));
    remember(known, base, await statsAt(root, base));
    for await (const batch of gathered(events, quietMs)) {
      const kinds = new Map<string, Kind>();
      for (const event of batch) {
        if (event.type === "overflow") yield { type: "error", path: base, error: LOST };
        else if ("path" in event) {
          const at = event.path === "." ? base : [...parts, event.path].join("/");
          if (event.type === "incomplete") yield { type: "error", path: at, error: NOT_WATCHED };
          // What is new stays new, whatever is written to it.
          else if (kinds.get(at) !== "created" || event.type === "removed") kinds.set(at, event.type);
        }
      }
      for (const change of await changesOf(root, known, kinds)) yield speakable(change);
    }
  } finally {
    // Otherwise it would wait for its next event first.
    leaving.abort();
    await events.return(undefined);
  }
}

/** Where changes never cease they are told all the same, after so many milliseconds. */
const LONGEST_MS = 5000;

/** Yields what has come until nothing came for a while. */
async function* gathered(events: AsyncGenerator<WatchEvent>, quietMs: number): AsyncGenerator<WatchEvent[]> {
  const ask = () => {
    const asked = events.next();
    // Whoever waits for it handles its failure, but does so later.
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

/** Waits for no longer than so many milliseconds; undefined: it has not come. */
async function within<T>(ms: number, coming: Promise<T>): Promise<T | undefined> {
  const { promise: late, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(resolve, ms, undefined);
  try {
    return await Promise.race([coming, late]);
  } finally {
    clearTimeout(timer);
  }
}

async function scan(known: Known, folder: Folder, prefix: string, recursive: boolean): Promise<void> {
  for await (const { name, isDirectory } of entriesIn(folder.here)) {
    const path = prefix === "" ? name : `${prefix}/${name}`;
    const stats = await lstat(folder.at(name)).catch(() => undefined);
    if (!stats || known.size >= MOST_KNOWN) continue;
    known.set(path, stats);
    if (!isDirectory || !recursive) continue;
    await folder.within(name, (child) => scan(known, child, path, true)).catch((error) => {
      // Gone meanwhile.
      if (!(error instanceof MissingError) && codeOf(error) !== "ENOENT") throw error;
    });
  }
}

/** Compares what is there with what was, at these paths, and remembers it. */
export async function changesOf(root: Root, known: Known, kinds: Map<string, Kind>): Promise<Change[]> {
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
    for (const below of moveBelow(known, oldPath, path)) moved.add(below);
    changes.push({ type: "rename", path, oldPath });
  }
  for (const [path, kind] of kinds) {
    const [stats, before] = [found.get(path), known.get(path)];
    if (moved.has(path)) continue;
    if (stats) changes.push({ type: typeOf(kind, before, stats), path });
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

function typeOf(kind: Kind, before: Stats | undefined, now: Stats): "create" | "write" | "chmod" {
  if (!before) return "create";
  if (before.ino !== now.ino || before.mtimeMs !== now.mtimeMs || before.size !== now.size) return "write";
  if (before.ctimeMs !== now.ctimeMs) return "chmod";
  // It was looked at first after it had changed.
  return kind === "created" ? "create" : "write";
}

function remember(known: Known, path: string, stats: Stats | undefined): void {
  if (stats && (known.has(path) || known.size < MOST_KNOWN)) known.set(path, stats);
  if (!stats) known.delete(path);
}

/** Gives what is at a path, and below it, its new paths; returns those. */
function moveBelow(known: Known, from: string, to: string): string[] {
  const all = [...known].filter(([path]) => path === from || path.startsWith(`${from}/`));
  return all.map(([path, stats]) => {
    known.delete(path);
    const now = to + path.slice(from.length);
    known.set(now, stats);
    return now;
  });
}

/** A number is given to a new file as soon as its own is gone: the same file was also born at the same moment. */
function idOf({ dev, ino, birthtimeMs }: Stats): string {
  return `${dev} ${ino} ${birthtimeMs}`;
}

/** A message has no name that is not UTF-8. */
function speakable(change: Change): Change {
  const name = [change.path, change.type === "rename" ? change.oldPath : ""].find(isEscaped);
  if (name === undefined) return change;
  return { type: "error", path: "", error: `${change.type} of ${JSON.stringify(name)}, whose name is not UTF-8` };
}
