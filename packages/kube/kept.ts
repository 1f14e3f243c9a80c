/**
 * Decides what a queue keeps of objects that are reconciled later. Small objects are kept in full. Of large ones,
 * only name and UID are kept, and the full object is fetched when it is needed, a few at the same time: otherwise a few
 * dozen would fill the memory.
 * @module
 */
import type { WorkQueue } from "./workqueue.ts";
import { isLarge } from "../api/objects/size.ts";
import type { ObjectMeta } from "../api/objects/objects.ts";
import type { Api, ObjectPath } from "./api.ts";
import { findObject } from "./requests.ts";

/**
 * Size above which an object is not kept in full: the characters of its keys and texts, plus eight for each value. Few
 * objects are larger.
 */
const MOST_KEPT = 16 * 1024;

/** Fetched objects that are in memory at the same time, over all queues. One object can take 30 MB. */
export const MOST_ASKED = 3;

export type Named = { metadata: ObjectMeta };

/** `whole` is undefined if the object is large. */
export interface Kept<T> {
  metadata: Pick<ObjectMeta, "namespace" | "name" | "uid">;
  whole: T | undefined;
}

/** Returns what to keep of an object: of a large one, only its name and UID. */
export function toKeep<T extends Named>(object: T): Kept<T> {
  const { namespace, name, uid } = object.metadata;
  return { metadata: { namespace, name, uid }, whole: isTooLarge(object) ? undefined : object };
}

/** Returns whether an object is too large to be kept in full. */
function isTooLarge(object: object): boolean {
  return isLarge(object, MOST_KEPT);
}

/** Fetches the large objects of a kind. */
export interface Getter<T> {
  /**
   * Fetches an object; undefined if it is gone, replaced by another of the same name, or invalid.
   * @throws {Error} if the request fails
   */
  get(metadata: Kept<T>["metadata"]): Promise<T | undefined>;
  /** The queue in which the fetches of all kinds wait. A turn lasts as long as the fetched object is needed. */
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
