/** Observes when objects of a kind become Ready, with one watch of the whole cluster. @module */
import { type Api, type ObjectPath, pathOf } from "../../../packages/kube/api.ts";
import { listAndWatch } from "../../../packages/kube/watch.ts";
import { type Condition, findCondition } from "../../../packages/api/objects/conditions.ts";
import type { ObjectMeta } from "../../../packages/api/objects/objects.ts";
import type { Sample } from "../result.ts";

/** The fields that the load reads from any object. */
export interface Followed {
  metadata: ObjectMeta;
  spec?: { replicas?: number };
  status?: { conditions?: Condition[]; sandbox?: { name?: string }; readyReplicas?: number };
}

export interface Follower {
  /** Objects that exist, by {@link keyOf}. */
  objects: ReadonlyMap<string, Followed>;
  /** When each object was first seen Ready, even if it was deleted later, in `performance.now()` milliseconds. */
  readyAt: ReadonlyMap<string, number>;
  /**
   * Resolves with true when `holds` returns true; it is called after every event. Resolves with false after `seconds`
   * or at the end.
   */
  until(holds: () => boolean, seconds: number): Promise<boolean>;
}

/** Returns `<namespace>/<name>`. */
export function keyOf({ namespace = "", name }: ObjectMeta): string {
  return `${namespace}/${name}`;
}

export function isReady({ status }: Followed): boolean {
  return findCondition(status?.conditions, "Ready")?.status === "True";
}

/**
 * Returns how long each object that became Ready took, in milliseconds.
 *
 * @param due when each object was requested, by {@link keyOf}, and `begun` when the load began, both in
 * `performance.now()` milliseconds
 */
export function samplesOf(due: ReadonlyMap<string, number>, { readyAt }: Follower, begun: number): Sample[] {
  return [...due].flatMap(([key, at]) => {
    const ready = readyAt.get(key);
    return ready === undefined ? [] : [{ at: at - begun, ms: ready - at }];
  });
}

/**
 * Starts to follow, and resolves when all existing objects have been seen. It calls `onObject` with every version of
 * every object.
 */
export async function followReady(
  api: Api,
  resource: ObjectPath["resource"],
  signal: AbortSignal,
  onObject: (object: Followed) => void = () => {},
): Promise<Follower> {
  const objects = new Map<string, Followed>();
  const keys = new Map<string, string>();
  const readyAt = new Map<string, number>();
  const listeners = new Set<() => void>();
  const notify = () => listeners.forEach((one) => one());
  await new Promise<void>((listed) => {
    const handler = {
      observe(object: Followed) {
        const key = keyOf(object.metadata);
        onObject(object);
        objects.set(key, object);
        keys.set(object.metadata.uid ?? "", key);
        if (!readyAt.has(key) && isReady(object)) readyAt.set(key, performance.now());
        notify();
      },
      gone(uid: string) {
        const key = keys.get(uid) ?? "";
        if (objects.get(key)?.metadata.uid === uid) objects.delete(key);
        notify();
      },
      listed: () => listed(),
    };
    const collection = { path: pathOf({ resource }), parse: (object: unknown) => object as Followed };
    void listAndWatch(api, collection, handler, { log: () => {}, signal }).then(listed);
  });
  const until = (holds: () => boolean, seconds: number) =>
    new Promise<boolean>((resolve) => {
      const end = (value: boolean) => {
        clearTimeout(timer);
        listeners.delete(one);
        signal.removeEventListener("abort", stop);
        resolve(value);
      };
      const one = () => holds() && end(true);
      const stop = () => end(false);
      const timer = setTimeout(() => end(holds()), seconds * 1000);
      listeners.add(one);
      signal.addEventListener("abort", stop);
      if (signal.aborted) stop();
      else one();
    });
  return { objects, readyAt, until };
}
