/** Watches a folder of the root, and those below it if asked; reports names, never what is in the files. @module */
import { ALIVE_MS } from "../../api/router/timeouts.ts";
import type { Root } from "../confine.ts";
import type { EntryType } from "./entry.ts";
import { createEventQueue } from "./events.ts";
import { withFolder } from "./folder.ts";
import { addFolder, type Watching } from "./watching.ts";

/**
 * What happened. `path` is relative to the folder that is watched.
 *
 * | type | meaning |
 * |---|---|
 * | `ready` | from here on nothing is missed |
 * | `created` | the name is new, or stands for another file (also after a rename); may be told twice |
 * | `modified` | content, mode or times changed |
 * | `removed` | nothing is there any more; with `path` "." the watch ends |
 * | `overflow` | the reader was too slow: events are lost, list anew |
 * | `incomplete` | more folders than can be watched: from `path` down there will be no events |
 * | `alive` | nothing happened for a while |
 */
export type WatchEvent =
  | { type: "ready" | "overflow" | "alive" }
  | { type: "created"; path: string; kind: EntryType }
  | { type: "modified" | "removed" | "incomplete"; path: string };

/** What to watch, and how much may wait. */
export interface WatchOptions {
  recursive: boolean;
  /** Ends the watch. */
  signal?: AbortSignal;
  /** Milliseconds of silence until `alive`. @default {15000} */
  aliveMs?: number;
  /** Events that may wait for the reader. @default {4096} */
  mostWaiting?: number;
}

/**
 * Watches the folder `path`. The first event is `ready`; returning the generator ends the watch.
 *
 * @throws {OutsideError | MissingError | InvalidPathError} MissingError also for a file
 */
export async function watchFolder(
  root: Root,
  path: string,
  options: WatchOptions,
): Promise<AsyncGenerator<WatchEvent>> {
  const { parts } = await root.locate(path);
  const { recursive, signal, mostWaiting = 4096, aliveMs = ALIVE_MS } = options;
  const queue = createEventQueue<WatchEvent>({
    most: mostWaiting,
    overflow: { type: "overflow" },
    idle: { type: "alive" },
    idleMs: aliveMs,
  });
  const watching: Watching = {
    root,
    base: parts,
    recursive,
    push: queue.push,
    end: queue.end,
    folders: new Map(),
    pending: new Set(),
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
  queue.push({ type: "ready" });
  signal?.addEventListener("abort", close, { once: true });
  if (signal?.aborted) close();
  return takeUntilClosed(queue.take(), () => {
    signal?.removeEventListener("abort", close);
    close();
  });
}

async function* takeUntilClosed(events: AsyncGenerator<WatchEvent>, close: () => void): AsyncGenerator<WatchEvent> {
  try {
    yield* events;
  } finally {
    close();
  }
}
