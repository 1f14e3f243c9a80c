/** Read-modify-write on the live object, for what must happen whatever else has changed. @module */
import type { KubeObject } from "../../api/objects/objects.ts";
import { isConflict, type Resource, type Store, StoreError } from "./store.ts";

const ATTEMPTS = 4;
const FIRST_DELAY_MS = 10;
const DELAY_FACTOR = 5;

/** What it takes to write to the live object. */
export interface Live {
  store: Store;
  /** Waits for milliseconds. */
  sleep(milliseconds: number): Promise<void>;
}

/**
 * Reads an object, edits it and writes it, at most four times while others write in between.
 *
 * @param object only its namespace, name and uid are used
 * @param edit returns what to write, undefined if there is nothing to do
 * @returns the object as it is now
 * @throws {StoreError} 404 if it is gone or another one has its name, 409 if the fourth attempt lost too
 */
export async function editLive(
  { store, sleep }: Live,
  resource: Resource,
  object: KubeObject,
  edit: (live: KubeObject) => KubeObject | undefined,
  write: "update" | "updateStatus" = "update",
): Promise<KubeObject> {
  const { namespace, name, uid } = object.metadata;
  for (let attempt = 1;; attempt++) {
    const live = await store.get(resource, namespace, name);
    if (live.metadata.uid !== uid) {
      throw new StoreError(404, "NotFound", `Cannot edit ${name}: another object has its name`);
    }
    const edited = edit(live);
    if (!edited) return live;
    try {
      return await store[write](resource, edited);
    } catch (error) {
      if (!isConflict(error) || attempt === ATTEMPTS) throw error;
      await sleep(FIRST_DELAY_MS * DELAY_FACTOR ** (attempt - 1));
    }
  }
}

/** Returns a copy with other metadata; an empty list or map is left out. */
export function withMetadata(object: KubeObject, changes: Record<string, unknown>): KubeObject {
  return { ...object, metadata: { ...object.metadata, ...changes } };
}
