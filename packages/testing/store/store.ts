/**
 * The part of a Kubernetes API that the fake Metacontroller uses: objects by kind, watches, preconditions, and a clock.
 * @module
 */
import type { KubeObject } from "../../api/objects/objects.ts";
import type { Clock } from "../../process/clock.ts";

export type { Clock };

/** A served resource. `apiVersion` is the requested version. */
export interface Resource {
  apiVersion: string;
  kind: string;
  /** Lower-case plural, as in `childResources[].resource`. */
  plural: string;
  namespaced: boolean;
  /** Tells whether `status` is a subresource. */
  hasStatus: boolean;
}

/** Preconditions of a deletion (otherwise it is a conflict), and what happens to the object's dependents. */
export interface DeleteOptions {
  uid?: string;
  resourceVersion?: string;
  propagation?: "Background" | "Foreground" | "Orphan";
}

/** Gets the objects of one resource in all namespaces. Objects are shared, so handlers must not change them. */
export interface WatchHandler {
  /** Gets all objects; called first on a watch, and again after a gap. */
  replace(objects: KubeObject[]): void;
  /** An object was created or changed. */
  changed(object: KubeObject): void;
  deleted(object: KubeObject): void;
}

/**
 * Reads and writes objects. Every function may reject with a {@link StoreError}. The namespace of a cluster-scoped
 * object is `undefined`. Callers must not change objects that a store returns.
 */
export interface Store {
  clock: Clock;
  /** Finds a resource by its plural; 404 if it is not served. */
  resource(apiVersion: string, plural: string): Promise<Resource>;
  /** Finds a resource by its kind; 404 if it is not served. */
  kind(apiVersion: string, kind: string): Promise<Resource>;
  get(resource: Resource, namespace: string | undefined, name: string): Promise<KubeObject>;
  /** Lists the objects of one namespace, or of all. */
  list(resource: Resource, namespace?: string): Promise<KubeObject[]>;
  /** Begins a watch. The returned function ends it. */
  watch(resource: Resource, handler: WatchHandler): () => void;
  create(resource: Resource, object: KubeObject): Promise<KubeObject>;
  /** Replaces an object except its status; `metadata.resourceVersion` and `uid`, if given, are preconditions. */
  update(resource: Resource, object: KubeObject): Promise<KubeObject>;
  /** Replaces only the status, with the same preconditions. */
  updateStatus(resource: Resource, object: KubeObject): Promise<KubeObject>;
  delete(resource: Resource, namespace: string | undefined, name: string, options?: DeleteOptions): Promise<void>;
}

/** An invalid field; `reason` is for example FieldValueRequired. */
export interface StoreErrorCause {
  reason: string;
  message: string;
  field: string;
}

/** The store to write to, and a way to wait between attempts. */
export interface Live {
  store: Store;
  /** Resolves after a number of milliseconds. */
  sleep(milliseconds: number): Promise<void>;
}

/** A refusal by the API, with HTTP status and `reason` as in Kubernetes, such as 409 and AlreadyExists. */
export class StoreError extends Error {
  override readonly name = "StoreError";
  readonly status: number;
  readonly reason: string;
  /** The invalid fields, if the API reports them: `details.causes` of its Status. */
  readonly causes: StoreErrorCause[];

  constructor(status: number, reason: string, message: string, causes: StoreErrorCause[] = []) {
    super(message);
    this.status = status;
    this.reason = reason;
    this.causes = causes;
  }
}

const ATTEMPTS = 4;
const FIRST_DELAY_MS = 10;
const DELAY_FACTOR = 5;

/** The object is deleted, or never existed. */
export function isNotFound(error: unknown): boolean {
  return error instanceof StoreError && error.status === 404;
}

/** A precondition did not hold. False for AlreadyExists, which has status 409, too. */
export function isConflict(error: unknown): boolean {
  return error instanceof StoreError && error.status === 409 && error.reason !== "AlreadyExists";
}

export function isAlreadyExists(error: unknown): boolean {
  return error instanceof StoreError && error.reason === "AlreadyExists";
}

/** Returns the group of an apiVersion; "" for the core group. */
export function groupOf(apiVersion: string): string {
  return apiVersion.includes("/") ? apiVersion.slice(0, apiVersion.indexOf("/")) : "";
}

/** Returns `<namespace>/<name>`, or `<name>` for a cluster-scoped object. */
export function keyOf(metadata: { namespace?: string | undefined; name: string }): string {
  return metadata.namespace ? `${metadata.namespace}/${metadata.name}` : metadata.name;
}

/** Splits a key made by {@link keyOf}. */
export function splitKey(key: string): { namespace: string | undefined; name: string } {
  const slash = key.indexOf("/");
  return slash < 0
    ? { namespace: undefined, name: key }
    : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
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
