/** Keeps objects that wait for another one, so that they can be shown again when that one changes. Decides nothing. @module */
import type { ObjectMeta } from "../lib/objects.ts";
import type { Sink } from "../kube/watch.ts";

export interface Waiting<T> extends Sink<T> {
  /** Shows the sink what waits for `key`; without one, all that waits. */
  again(key?: string): void;
}

/**
 * Makes a sink in front of another one.
 *
 * @param keyOf names what an object waits for; undefined: nothing, so that it is not kept
 */
export function createWaiting<T extends { metadata: ObjectMeta }>(
  sink: Sink<T>,
  keyOf: (object: T) => string | undefined,
): Waiting<T> {
  const keys = new Map<string, string>();
  const groups = new Map<string, Map<string, T>>();

  function keep(uid: string, key: string, object: T): void {
    const group = groups.get(key) ?? new Map<string, T>();
    groups.set(key, group.set(uid, object));
    keys.set(uid, key);
  }

  function drop(uid: string): void {
    const key = keys.get(uid);
    if (key === undefined) return;
    keys.delete(uid);
    const group = groups.get(key);
    group?.delete(uid);
    if (group?.size === 0) groups.delete(key);
  }

  return {
    observe(object) {
      const { uid = "" } = object.metadata;
      const key = keyOf(object);
      if (keys.get(uid) !== key) drop(uid);
      if (key !== undefined) keep(uid, key, object);
      sink.observe(object);
    },
    gone(uid) {
      drop(uid);
      sink.gone(uid);
    },
    listed(uids) {
      for (const uid of [...keys.keys()]) if (!uids.has(uid)) drop(uid);
      sink.listed(uids);
    },
    again(key) {
      const found = key === undefined ? [...groups.values()] : [groups.get(key) ?? new Map<string, T>()];
      for (const object of found.flatMap((group) => [...group.values()])) sink.observe(object);
    },
  };
}
