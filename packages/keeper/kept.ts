/**
 * What the keeper keeps of objects that it may have to act on later: small ones whole, of large ones no more than who they
 * are. Those are asked for when they are needed, a handful at once in all, or a few dozen would fill the memory. @module
 */
import type { WorkQueue } from "../kube/workqueue.ts";
import { isLarge } from "../api/objects/large.ts";
import type { ObjectMeta } from "../api/objects/objects.ts";
import type { Api, ObjectPath } from "../kube/api.ts";
import { findObject } from "../kube/find.ts";

/** Objects of more are asked for, in characters and words of eight. Few have more. */
const MOST_KEPT = 16 * 1024;

/** So many that were asked for are there at once, those of all queues together: one may take 30 MB. */
export const MOST_ASKED = 3;

export type Named = { metadata: ObjectMeta };

/** `whole` is undefined of a large one. */
export interface Kept<T> {
  metadata: Pick<ObjectMeta, "namespace" | "name" | "uid">;
  whole: T | undefined;
}

/** Returns what to keep of an object: nothing of a large one but who it is. */
export function toKeep<T extends Named>(object: T): Kept<T> {
  const { namespace, name, uid } = object.metadata;
  return { metadata: { namespace, name, uid }, whole: isTooLarge(object) ? undefined : object };
}

/** Tells whether an object is not kept whole. */
export function isTooLarge(object: object): boolean {
  return isLarge(object, MOST_KEPT);
}

/** How the large ones of a kind are asked for. */
export interface Getter<T> {
  /** Returns undefined if it is gone, or another one has its name, or it cannot be read. @throws {Error} if nobody knows */
  get(metadata: Kept<T>["metadata"]): Promise<T | undefined>;
  /** In which all kinds and queues stand in line; whoever asks holds his turn for as long as he needs the object. */
  turns: WorkQueue;
}

export function createGetter<T extends Named>(
  api: Api,
  resource: ObjectPath["resource"],
  schema: { safeParse(object: unknown): { data?: T | undefined } },
  turns: WorkQueue,
): Getter<T> {
  const readable = { parse: (object: unknown) => schema.safeParse(object).data };
  return {
    turns,
    async get({ namespace, name, uid }) {
      const object = await findObject(api, { resource, namespace, name }, readable);
      return object?.metadata.uid === uid ? object : undefined;
    },
  };
}
