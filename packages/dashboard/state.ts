/** State that components share: the objects of a kind, whether they are up to date, and the current time. @module */
import { useEffect, useState } from "preact/hooks";
import type { KubeObject } from "../api/objects/objects.ts";
import { type Api, type ObjectPath, pathOf } from "../kube/api.ts";
import { createStore } from "../kube/store.ts";
import { listAndWatch } from "../kube/watch.ts";

/** The objects of a kind as far as they are known. */
export interface Collection {
  /** Sorted by namespace and name. */
  objects: readonly KubeObject[];
  /** False until the first list is complete. */
  isListed: boolean;
  /** Why there is no list yet. If there is one that is not up to date, {@link useStale} tells. */
  trouble: string | undefined;
}

/** Objects that are not up to date. */
export interface Stale {
  since: Date;
  trouble: string;
}

/** A watch that begins again within this time needs no mention, in milliseconds. */
const TOLERATED_MS = 3000;
const staleLists = new Map<object, Stale>();
const listeners = new Set<() => void>();

function setStale(list: object, stale: Stale | undefined): void {
  if (stale) staleLists.set(list, stale);
  else if (!staleLists.delete(list)) return;
  for (const listener of listeners) listener();
}

/** Returns which of the shown objects have been old for the longest time; undefined: all are up to date. */
export function useStale(): Stale | undefined {
  const [stale, set] = useState<Stale>();
  useEffect(() => {
    const follow = () => set([...staleLists.values()].sort((one, other) => +one.since - +other.since)[0]);
    follow();
    listeners.add(follow);
    return () => void listeners.delete(follow);
  }, []);
  return stale;
}

/** How often lists follow changes, in milliseconds: drawing thousands of rows for each change would block the page. */
const UPDATE_MS = 200;
const planned = new Set<() => void>();
let updatedAt = -UPDATE_MS;
let timer: ReturnType<typeof setTimeout> | undefined;

/**
 * Plans an update. All that are planned come together: a list that depends on several collections is drawn once.
 *
 * @param isFirst the collection has just been listed: the user waits for it
 */
function plan(update: () => void, isFirst = false): void {
  planned.add(update);
  if (isFirst) clearTimeout(timer);
  if (timer !== undefined && !isFirst) return;
  timer = setTimeout(() => {
    timer = undefined;
    updatedAt = performance.now();
    const updates = [...planned];
    planned.clear();
    for (const each of updates) each();
  }, isFirst ? 0 : Math.max(0, updatedAt + UPDATE_MS - performance.now()));
}

/** What to watch. */
export interface Watched {
  kind: string;
  resource: ObjectPath["resource"];
  /** Parameters such as a labelSelector; absent: all objects. */
  query?: Record<string, string>;
  /** Returns the fields of an object that the page needs. @default the whole object */
  keep?(object: KubeObject): KubeObject;
}

const NONE: Collection = { objects: [], isListed: false, trouble: undefined };

/**
 * Watches the objects of a kind while the component is mounted.
 *
 * @param kind undefined: nothing is watched
 * @param namespace undefined: all namespaces
 * @param name only the object with this name
 */
export function useCollection(
  api: Api,
  kind: Watched | undefined,
  namespace: string | undefined,
  name?: string,
): Collection {
  const [collection, setCollection] = useState(NONE);
  useEffect(() => {
    if (kind === undefined) return;
    const ending = new AbortController();
    let state = NONE;
    let isChanged = false;
    const update = () => {
      if (isChanged) state = { ...state, objects: sorted(store.values()) };
      isChanged = false;
      setCollection(state);
    };
    const show = (change: Partial<Collection>) => {
      state = { ...state, ...change };
      plan(update, change.isListed);
    };
    setCollection(NONE);
    const store = createStore({ keep: kind.keep ?? ((object: KubeObject) => object) });
    let isListed = false;
    let late: ReturnType<typeof setTimeout> | undefined;
    const onHeard = () => {
      clearTimeout(late);
      late = undefined;
      setStale(ending, undefined);
      if (state.trouble !== undefined) show({ trouble: undefined });
    };
    store.onChange(() => {
      isChanged = true;
      plan(update);
    });
    store.onSynced(() => show({ isListed: isListed = true, trouble: undefined }));
    const parse = (object: unknown) => ({ ...object as KubeObject, kind: kind.kind });
    const path = pathOf({ resource: kind.resource, namespace });
    const log = (_: string, message: string, fields: Record<string, unknown> = {}) => {
      const trouble = String(fields["error"] ?? message);
      if (!isListed) return show({ trouble });
      const since = new Date();
      late ??= setTimeout(() => setStale(ending, { since, trouble }), TOLERATED_MS);
    };
    const query = { ...kind.query, ...name === undefined ? {} : { fieldSelector: `metadata.name=${name}` } };
    void listAndWatch(api, { path, query, parse }, store, { log, signal: ending.signal, onHeard });
    return () => {
      clearTimeout(late);
      planned.delete(update);
      setStale(ending, undefined);
      ending.abort();
    };
  }, [api, kind, namespace, name]);
  return collection;
}

/** Returns the current time and updates it every five seconds: ages need no more precision. */
export function useClock(): Date {
  const [now, setNow] = useState(() => new Date());
  useEffect(() => {
    const timer = setInterval(() => setNow(new Date()), 5000);
    return () => clearInterval(timer);
  }, []);
  return now;
}

/** How often to read again what no watch shows, in milliseconds. */
export const POLL_MS = 5000;

/**
 * Calls `read` after each change, and again after each pause. Returns the last result until there is a new one.
 *
 * @param read undefined: nothing is read
 * @param pause returns milliseconds
 */
export function usePolled<T>(
  read: (() => Promise<T | undefined>) | undefined,
  changes: unknown[],
  pause: () => number,
): T | undefined {
  const [result, setResult] = useState<T>();
  useEffect(() => {
    if (!read) return;
    let isOver = false;
    let timer: ReturnType<typeof setTimeout>;
    const poll = async () => {
      // Ignored: the next call may succeed, and the panel's top says if the object is not up to date.
      const found = document.hidden ? undefined : await read().catch(() => undefined);
      if (isOver) return;
      if (found !== undefined) setResult(found);
      timer = setTimeout(poll, pause());
    };
    void poll();
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, changes);
  return result;
}

function sorted(objects: Iterable<KubeObject>): KubeObject[] {
  const compare = (a = "", b = "") => a < b ? -1 : a > b ? 1 : 0;
  return [...objects].sort(({ metadata: a }, { metadata: b }) =>
    compare(a.namespace, b.namespace) || compare(a.name, b.name)
  );
}
