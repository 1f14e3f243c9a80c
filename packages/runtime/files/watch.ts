/** Watches a folder of the root, and its subfolders if requested. @module */
import { ALIVE_MS } from "../../api/router/timeouts.ts";
import type { Root } from "../confine.ts";
import type { EntryType } from "./entry.ts";
import { createEventQueue } from "./events.ts";
import { withFolder } from "./folder.ts";
import { addFolder, type Watching } from "./watching.ts";

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
 * | `incomplete` | there are too many folders to watch: changes below `path` are not reported |
 * | `alive` | nothing happened for a while |
 */
export type WatchEvent =
  | { type: "ready" | "overflow" | "alive" }
  | { type: "created"; path: string; kind: EntryType }
  | { type: "modified" | "removed" | "incomplete"; path: string };

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
