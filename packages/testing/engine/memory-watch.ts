/** The watches of the memory store: passes changes to handlers in order, with an optional delay. @module */
import type { KubeObject } from "../../api/objects/objects.ts";
import type { ServedResource } from "./memory-kinds.ts";
import type { Clock, WatchHandler } from "./store.ts";

export interface Watches {
  /** Passes all existing objects to a handler, then every change. The returned function ends the watch. */
  add(resource: ServedResource, handler: WatchHandler): () => void;
  tell(resource: ServedResource, type: "changed" | "deleted", object: KubeObject): void;
}

/** Makes an empty set of watches. Without a delay, a change is passed on as soon as the current code has finished. */
export function createWatches(
  clock: Clock,
  delay: ((object: KubeObject) => number) | undefined,
  list: (resource: ServedResource) => KubeObject[],
): Watches {
  const watching = new Set<{ resource: ServedResource; handler: WatchHandler }>();
  const lastDue = new Map<string, number>();

  function later(place: string, milliseconds: number, run: () => void): void {
    const due = Math.max(lastDue.get(place) ?? 0, clock.now() + milliseconds);
    lastDue.set(place, due);
    if (delay && due > clock.now()) clock.setTimeout(run, due - clock.now());
    else queueMicrotask(run);
  }

  return {
    add(resource, handler) {
      const watch = { resource, handler };
      const objects = list(resource);
      watching.add(watch);
      later(resource.place, 0, () => watching.has(watch) && handler.replace(objects));
      return () => void watching.delete(watch);
    },
    tell({ place }, type, object) {
      for (const watch of watching) {
        if (watch.resource.place !== place) continue;
        const { apiVersion } = watch.resource;
        const shown = object.apiVersion === apiVersion ? object : { ...object, apiVersion };
        later(place, delay?.(object) ?? 0, () => watching.has(watch) && watch.handler[type](shown));
      }
    },
  };
}
