/**
 * Tells what happened to files as E2B's clients expect it, which is as inotify reports it: created, written, removed,
 * renamed, or changed otherwise. Node reports less, so the last known state of each file decides.
 * @module
 */
import type { Stats } from "node:fs";
import { EventType } from "../../../runtime-api/gen/e2b/filesystem_pb.ts";
import type { NameChange } from "../../files/watch.ts";
import { idOf, type LastStates, moveStates } from "../../rpc/watcher.ts";

/** One thing that happened. */
export interface Change {
  /** Relative to the watched folder. */
  name: string;
  type: EventType;
}

/** The files of a watched folder. */
export interface WatchedFiles {
  /** The last known state of each file, by its path relative to the folder. */
  known: LastStates;
  /** Files that were created and disappeared again, before their state could be read. */
  vanished: Set<string>;
  /** Most files whose states are known. */
  most: number;
}

/** Returns whether the event after this one may say where the file went. */
export function mayBeMove({ known }: WatchedFiles, { kind, path, stats }: NameChange): boolean {
  return kind === "rename" && !stats && known.has(path);
}

/** Returns whether a file disappeared from one path and is now at the other. */
export function isMove({ known }: WatchedFiles, from: NameChange, to: NameChange): boolean {
  const before = known.get(from.path);
  return before !== undefined && to.kind === "rename" && to.stats !== undefined && idOf(before) === idOf(to.stats);
}

/** Records a move, and tells it. */
export function moved({ known }: WatchedFiles, from: string, to: string, stats: Stats): Change[] {
  forgetBelow(known, to);
  moveStates(known, from, to);
  known.set(to, stats);
  return [{ name: from, type: EventType.RENAME }, { name: to, type: EventType.CREATE }];
}

/** Records an event of the system, and returns what it amounts to; nothing if an earlier event has reported it. */
export function changesBy(files: WatchedFiles, change: NameChange): Change[] {
  const { path: name, stats } = change;
  if (!stats) return goneBy(files, change);
  const { known, vanished, most } = files;
  const before = known.get(name);
  vanished.delete(name);
  if (before || known.size < most) known.set(name, stats);
  if (change.kind === "rename" && !before) {
    // A file that was renamed to its final name, as the runtime writes files, is written at once.
    const isWritten = stats.isFile() && stats.size > 0;
    return of(name, EventType.CREATE, ...isWritten ? [EventType.WRITE] : []);
  }
  // Of folders in a folder, the system reports new attributes only.
  if (stats.isDirectory()) return change.kind === "change" ? of(name, EventType.CHMOD) : [];
  if (!before || idOf(before) !== idOf(stats)) return of(name, EventType.WRITE);
  if (before.mtimeMs !== stats.mtimeMs || before.size !== stats.size) return of(name, EventType.WRITE);
  return before.ctimeMs === stats.ctimeMs ? [] : of(name, EventType.CHMOD);
}

function goneBy({ known, vanished, most }: WatchedFiles, { kind, path: name }: NameChange): Change[] {
  const isKnown = known.has(name);
  // The removal is another event, which comes later.
  if (kind === "change") return isKnown || vanished.has(name) ? of(name, EventType.WRITE) : [];
  if (isKnown) return [...forgetBelow(known, name), ...of(name, EventType.REMOVE)];
  if (vanished.delete(name) || known.size >= most) return of(name, EventType.REMOVE);
  vanished.add(name);
  return of(name, EventType.CREATE);
}

/** Forgets a file and what was below it. Tells the removal of what was below it, the deepest first. */
function forgetBelow(known: LastStates, name: string): Change[] {
  known.delete(name);
  const below = [...known.keys()].filter((path) => path.startsWith(`${name}/`)).sort().reverse();
  for (const path of below) known.delete(path);
  return below.map((path) => ({ name: path, type: EventType.REMOVE }));
}

function of(name: string, ...types: EventType[]): Change[] {
  return types.map((type) => ({ name, type }));
}
