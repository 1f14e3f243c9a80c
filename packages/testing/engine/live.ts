/** Reads, edits and writes an object in the store, with retries after conflicts. @module */
import type { KubeObject } from "../../api/objects/objects.ts";
import { isConflict, type Resource, type Store, StoreError } from "./store.ts";

const ATTEMPTS = 4;
const FIRST_DELAY_MS = 10;
const DELAY_FACTOR = 5;

/** The store to write to, and a way to wait between attempts. */
export interface Live {
  store: Store;
  /** Resolves after a number of milliseconds. */
  sleep(milliseconds: number): Promise<void>;
}

/**
 * Reads an object, edits it and writes it. After a conflict with another write it tries again, up to four attempts.
 *
 * @param object only its namespace, name and UID are used
 * @param edit returns the object to write, or undefined if there is nothing to do
 * @returns the object after the write
 * @throws {StoreError} 404 if it is deleted or another object has its name, 409 if the fourth attempt has a conflict,
 * too
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

/** Returns a copy with changed metadata; empty lists and maps are omitted. */
export function withMetadata(object: KubeObject, changes: Record<string, unknown>): KubeObject {
  return { ...object, metadata: { ...object.metadata, ...changes } };
}
