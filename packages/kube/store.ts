/**
 * Stores what a watch has shown of one kind: a projection of each object, found by name and by indexes, as in
 * client-go's Indexer.
 * @module
 */
import type { ObjectMeta } from "../api/objects/objects.ts";
import type { EventHandler } from "./watch.ts";

export interface StoreOptions<T, Kept, Index extends string> {
  /** Returns the projection of an object. */
  keep(object: T): Kept;
  /** By name of the index: returns the values under which an object is found. @default {none} */
  indexes?: Record<Index, (kept: Kept) => readonly string[]>;
  /** Returns whether a change is irrelevant to all listeners. @default {() => false} */
  isSame?(before: Kept, after: Kept): boolean;
}

/** Called for each change; undefined stands for an object that did not exist before, or is gone. */
type StoreListener<Kept> = (before: Kept | undefined, after: Kept | undefined) => void;

export interface Store<T, Kept, Index extends string = never> extends EventHandler<T> {
  /** Returns the object with this name. If two objects have had it, returns the one that was shown last. */
  get(namespace: string | undefined, name: string): Kept | undefined;
  /** Returns the object with this UID. */
  byUid(uid: string): Kept | undefined;
  /** Returns the objects that an index has under this value. */
  byIndex(index: Index, value: string): Iterable<Kept>;
  values(): Iterable<Kept>;
  /** Returns whether a list has been shown. Before that, an object that is not found may exist. */
  hasSynced(): boolean;
  /** Adds a listener, which is called after each relevant change. */
  onChange(listener: StoreListener<Kept>): void;
  /** Adds a listener, which is called when a list is complete. */
  onSynced(listener: () => void): void;
}

interface Entry<Kept> {
  key: string;
  kept: Kept;
}

/** Creates an empty store. */
export function createStore<T extends { metadata: ObjectMeta }, Kept, Index extends string = never>(
  { keep, indexes, isSame = () => false }: StoreOptions<T, Kept, Index>,
): Store<T, Kept, Index> {
  const byUid = new Map<string, Entry<Kept>>();
  const byName = new Map<string, Entry<Kept>>();
  const byValue = new Map<string, Map<string, Kept>>();
  const listeners: StoreListener<Kept>[] = [];
  const syncedListeners: (() => void)[] = [];
  let isSynced = false;

  const placesOf = (kept: Kept) =>
    Object.entries<(kept: Kept) => readonly string[]>(indexes ?? {}).flatMap(([index, valuesOf]) =>
      valuesOf(kept).map((value) => placeOf(index, value))
    );

  function leave(uid: string, { kept }: Entry<Kept>): void {
    for (const place of placesOf(kept)) {
      const found = byValue.get(place);
      found?.delete(uid);
      if (found?.size === 0) byValue.delete(place);
    }
  }

  const tell = (before: Kept | undefined, after: Kept | undefined) =>
    listeners.forEach((listener) => listener(before, after));

  return {
    observe(object) {
      const { namespace, name, uid = "" } = object.metadata;
      const entry = { key: keyOf(namespace, name), kept: keep(object) };
      const before = byUid.get(uid);
      if (before) leave(uid, before);
      for (const place of placesOf(entry.kept)) {
        byValue.set(place, (byValue.get(place) ?? new Map<string, Kept>()).set(uid, entry.kept));
      }
      byUid.set(uid, entry);
      byName.set(entry.key, entry);
      if (!before || !isSame(before.kept, entry.kept)) tell(before?.kept, entry.kept);
    },
    gone(uid) {
      const entry = byUid.get(uid);
      if (!entry) return;
      byUid.delete(uid);
      leave(uid, entry);
      // A new object of the same name may have been shown before this one's deletion.
      if (byName.get(entry.key) === entry) byName.delete(entry.key);
      tell(entry.kept, undefined);
    },
    listed() {
      isSynced = true;
      syncedListeners.forEach((listener) => listener());
    },
    get: (namespace, name) => byName.get(keyOf(namespace, name))?.kept,
    byUid: (uid) => byUid.get(uid)?.kept,
    byIndex: (index, value) => byValue.get(placeOf(index, value))?.values() ?? [],
    *values() {
      for (const { kept } of byUid.values()) yield kept;
    },
    hasSynced: () => isSynced,
    onChange: (listener) => void listeners.push(listener),
    onSynced: (listener) => void syncedListeners.push(listener),
  };
}

function keyOf(namespace = "", name: string): string {
  return `${namespace}/${name}`;
}

function placeOf(index: string, value: string): string {
  return `${index} ${value}`;
}
