/** A cache of limited size that owners share. An owner with many entries displaces its own, not those of others. @module */

/** Entries by key. */
export interface SharedCache<T> {
  get(key: string): T | undefined;
  remove(key: string): void;
  /** Adds an entry under a new key. If the cache is full, the oldest entry of the owner with the most entries is removed. */
  add(key: string, entry: T, owner: string): void;
}

/** Creates an empty cache. */
export function createSharedCache<T>(size: number): SharedCache<T> {
  const entries = new Map<string, { entry: T; owner: string }>();
  /** By owner; the oldest first. */
  const keysOf = new Map<string, Set<string>>();

  function remove(key: string): void {
    const owner = entries.get(key)?.owner;
    if (owner === undefined) return;
    entries.delete(key);
    const keys = keysOf.get(owner);
    keys?.delete(key);
    if (keys?.size === 0) keysOf.delete(owner);
  }

  return {
    get: (key) => entries.get(key)?.entry,
    remove,
    add(key, entry, owner) {
      entries.set(key, { entry, owner });
      keysOf.set(owner, (keysOf.get(owner) ?? new Set()).add(key));
      if (entries.size <= size) return;
      const [oldest] = largestOf(keysOf.values());
      if (oldest !== undefined) remove(oldest);
    },
  };
}

function largestOf(sets: Iterable<ReadonlySet<string>>): ReadonlySet<string> {
  let largest: ReadonlySet<string> = new Set();
  for (const set of sets) if (set.size > largest.size) largest = set;
  return largest;
}
