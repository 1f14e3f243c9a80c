/** Records the changes in a store, for watches that begin at an older version. @module */
import type { StoredChange } from "../store/memory.ts";

/** A change, with its resourceVersion as a number. */
export interface Change extends StoredChange {
  version: number;
}

export interface Changes {
  record(change: StoredChange): void;
  /** Returns the changes after a version, in order; undefined if some of them are no longer recorded. */
  since(version: number): readonly Change[] | undefined;
  /** Calls `listener` for every change from now on; the returned function ends that. */
  subscribe(listener: (change: Change) => void): () => void;
}

/** Makes an empty record. @param limit most changes that it stores */
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
