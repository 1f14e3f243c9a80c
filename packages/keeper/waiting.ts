/** Objects that wait for what they name: a queue judges them anew when that has come, changed or gone. @module */
import type { Store } from "../kube/store.ts";
import type { EventHandler } from "../kube/watch.ts";
import { type Kept, type Named, toKeep } from "./kept.ts";
import type { ReconcileQueue } from "./reconcilequeue.ts";

export interface Waiting<T> extends EventHandler<T> {
  /** Has the queue judge anew what waits for `key`; without one, all that waits. */
  requeue(key?: string): void;
}

/**
 * Makes an event handler in front of a queue.
 *
 * @param keyOf names what an object waits for; undefined: nothing, so that it is not kept
 */
export function createWaiting<T extends Named>(
  queue: ReconcileQueue<T>,
  keyOf: (object: T) => string | undefined,
): Waiting<T> {
  const keys = new Map<string, string>();
  const groups = new Map<string, Map<string, Kept<T>>>();

  function keep(uid: string, key: string, object: T): void {
    const group = groups.get(key) ?? new Map<string, Kept<T>>();
    groups.set(key, group.set(uid, toKeep(object)));
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
    listing: () => queue.listing?.(),
    observe(object) {
      const { uid = "" } = object.metadata;
      const key = keyOf(object);
      if (keys.get(uid) !== key) drop(uid);
      if (key !== undefined) keep(uid, key, object);
      queue.observe(object);
    },
    gone(uid) {
      drop(uid);
      queue.gone(uid);
    },
    requeue(key) {
      const found = key === undefined ? [...groups.values()] : [groups.get(key) ?? new Map<string, Kept<T>>()];
      for (const kept of found.flatMap((group) => [...group.values()])) queue.requeue(kept);
    },
  };
}

/** Has judged anew what waits for an object when that has come, changed or gone, and all that waits once everything is known. */
export function requeueOnChange<T, Kept>(
  waiting: Waiting<T>,
  store: Pick<Store<never, Kept>, "onChange" | "onSynced">,
  keyOf: (kept: Kept) => string,
): void {
  store.onChange((before, after) => {
    const changed = after ?? before;
    if (changed) waiting.requeue(keyOf(changed));
  });
  store.onSynced(() => waiting.requeue());
}
