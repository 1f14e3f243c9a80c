/** The folders of one watch and their events; symlinks are reported, but not followed. @module */
import { type FSWatcher, watch } from "node:fs";
import { lstat, stat } from "node:fs/promises";
import { basename } from "node:path";
import { entriesIn } from "../../process/bytepaths.ts";
import { textOfName } from "../../process/filenames.ts";
import { ON_DENO } from "../../process/ondeno.ts";
import { codeOf, MissingError, type Root } from "../confine.ts";
import { entryOf } from "./entry.ts";
import { type Folder, withFolder } from "./folder.ts";
import type { WatchEvent } from "./watch.ts";
import { TEMPORARY_PREFIX } from "./write.ts";

/** One watch. Folders are identified by their path relative to `base`; "" is `base` itself. */
export interface Watching {
  root: Root;
  base: string[];
  recursive: boolean;
  push(event: WatchEvent): void;
  end(): void;
  folders: Map<string, WatchedFolder>;
  /** Events that wait to be handled. A file that is written in a thousand pieces is then checked only a few times. */
  pending: Set<string>;
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

/** Starts to watch a folder before reading its content, so that files created in between are not missed. */
export async function addFolder(watching: Watching, folder: Folder, path: string, isNew: boolean): Promise<void> {
  if (watching.folders.has(path) || !await startWatching(watching, folder, path)) return;
  const names = watching.folders.get(path)?.names;
  if (!watching.recursive && !names) return;
  for await (const entry of entriesIn(folder.here)) {
    names?.add(entry.name);
    if (!watching.recursive) continue;
    const child = join(path, entry.name);
    if (isNew) await look(watching, folder, { path: child, name: entry.name, kind: "rename" });
    else if (entry.isDirectory) await enter(watching, folder, entry.name, child, false);
  }
}

async function enter(watching: Watching, folder: Folder, name: string, path: string, isNew: boolean): Promise<void> {
  try {
    await folder.within(name, (child) => addFolder(watching, child, path, isNew));
  } catch (error) {
    // The folder was deleted again.
    if (!(error instanceof MissingError) && codeOf(error) !== "ENOENT") throw error;
  }
}

async function startWatching(watching: Watching, folder: Folder, path: string): Promise<boolean> {
  const { ino } = await stat(folder.here);
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
    watching.push({ type: "incomplete", path });
    return false;
  }
}

function enqueue(watching: Watching, folder: string, kind: string, name: string): void {
  if (name.startsWith(TEMPORARY_PREFIX)) return;
  const key = `${kind} ${folder}/${name}`;
  const { pending } = watching;
  if (pending.has(key)) return;
  if (pending.size >= MOST_PENDING) return watching.push({ type: "overflow" });
  pending.add(key);
  watching.last = watching.last.then(async () => {
    pending.delete(key);
    await onEvent(watching, folder, kind, name).catch(() => watching.push({ type: "overflow" }));
  });
}

async function onEvent(watching: Watching, path: string, kind: string, name: string): Promise<void> {
  const watched = watching.folders.get(path);
  if (!watched) return;
  const parts = [...watching.base, ...path.split("/").filter(Boolean)];
  try {
    await withFolder(watching.root, { parts, wanted: path }, async (folder) => {
      if ((await stat(folder.here)).ino !== watched.inode) throw new MissingError();
      await look(watching, folder, {
        path: join(path, name),
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

interface Change {
  path: string;
  name: string;
  /** The system's name of the event: `rename` if a name appeared or disappeared, otherwise `change`. */
  kind: string;
  selfName?: string;
  names?: Set<string> | undefined;
}

async function look(watching: Watching, folder: Folder, { path, name, kind, selfName, names }: Change): Promise<void> {
  const stats = await lstat(folder.at(name)).catch(() => undefined);
  if (!stats) {
    if (name === selfName || (names && !names.delete(name))) return;
    forget(watching, path);
    return watching.push({ type: "removed", path });
  }
  names?.add(name);
  if (kind !== "rename") return watching.push({ type: "modified", path });
  watching.push({ type: "created", path, kind: entryOf(name, stats).type });
  if (!stats.isDirectory() || !watching.recursive) return;
  if (watching.folders.get(path)?.inode !== stats.ino) forget(watching, path);
  await enter(watching, folder, name, path, true);
}

/** Stops watching a deleted folder and its subfolders. */
function forget({ folders }: Watching, path: string): void {
  for (const [known, { watcher }] of folders) {
    if (known !== path && !known.startsWith(`${path}/`)) continue;
    watcher.close();
    folders.delete(known);
  }
}

function join(path: string, name: string): string {
  return path === "" ? name : `${path}/${name}`;
}
