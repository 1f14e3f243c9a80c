/** What has happened to the objects of a store, as far back as watches may ask. Keeps no objects of its own. @module */
import type { StoredChange } from "../engine/memory-state.ts";

/** One change, and its resourceVersion as a number. */
export interface Change extends StoredChange {
  version: number;
}

export interface Changes {
  record(change: StoredChange): void;
  /** Returns what came after a version, in order; undefined if that is further back than is remembered. */
  since(version: number): readonly Change[] | undefined;
  /** Calls `listener` for every change to come; returns the end of that. */
  subscribe(listener: (change: Change) => void): () => void;
}

/** Makes an empty memory. @param limit how many changes it holds */
export function createChanges(limit: number): Changes {
  const kept: Change[] = [];
  const listeners = new Set<(change: Change) => void>();
  let forgotten = 0;
  return {
    record(stored) {
      const change = { ...stored, version: Number(stored.object.metadata.resourceVersion) };
      kept.push(change);
      if (kept.length > limit) forgotten = kept.shift()?.version ?? forgotten;
      for (const listener of [...listeners]) listener(change);
    },
    since: (version) => version < forgotten ? undefined : kept.filter((change) => change.version > version),
    subscribe(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}
