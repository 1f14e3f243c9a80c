/** What the engine needs of a Kubernetes API, and no more: objects by kind, watches, preconditions, and a clock. @module */
import type { Clock } from "../../process/clock.ts";
import type { KubeObject } from "../../api/objects/objects.ts";

export type { Clock };

/** One served resource. `apiVersion` is the version that was asked for. */
export interface Resource {
  apiVersion: string;
  kind: string;
  /** Lower-case plural, as in `childResources[].resource`. */
  plural: string;
  namespaced: boolean;
  /** Whether `status` is a subresource of its own. */
  hasStatus: boolean;
}

/** What must hold for an object to be deleted, else it is a conflict; and what becomes of those that it owns. */
export interface DeleteOptions {
  uid?: string;
  resourceVersion?: string;
  propagation?: "Background" | "Foreground" | "Orphan";
}

/** Receives the state of one resource in all namespaces. Objects are shared: never change them. */
export interface WatchHandler {
  /** The whole state; first call of a watch, and again after a gap. */
  replace(objects: KubeObject[]): void;
  /** An object was created or changed. */
  changed(object: KubeObject): void;
  deleted(object: KubeObject): void;
}

/**
 * Reads and writes objects. Every function may reject with a {@link StoreError}; a namespace is `undefined` for
 * cluster-scoped objects. Objects that come out of a store are never to be changed.
 */
export interface Store {
  clock: Clock;
  /** Looks a resource up by its plural; 404 if it is not served. */
  resource(apiVersion: string, plural: string): Promise<Resource>;
  /** Looks a resource up by its kind; 404 if it is not served. */
  kind(apiVersion: string, kind: string): Promise<Resource>;
  get(resource: Resource, namespace: string | undefined, name: string): Promise<KubeObject>;
  /** Lists one namespace, or all. */
  list(resource: Resource, namespace?: string): Promise<KubeObject[]>;
  /** Returns the function that ends the watch. */
  watch(resource: Resource, handler: WatchHandler): () => void;
  create(resource: Resource, object: KubeObject): Promise<KubeObject>;
  /** Replaces all but the status; `metadata.resourceVersion` and `uid`, where given, are preconditions. */
  update(resource: Resource, object: KubeObject): Promise<KubeObject>;
  /** Replaces the status alone, under the same preconditions. */
  updateStatus(resource: Resource, object: KubeObject): Promise<KubeObject>;
  delete(resource: Resource, namespace: string | undefined, name: string, options?: DeleteOptions): Promise<void>;
}

/** One field that is wrong; `reason` such as FieldValueRequired. */
export interface StoreErrorCause {
  reason: string;
  message: string;
  field: string;
}

/** A refusal by the API: HTTP status and `reason` as Kubernetes gives them, such as 409 and AlreadyExists. */
export class StoreError extends Error {
  override readonly name = "StoreError";
  readonly status: number;
  readonly reason: string;
  /** Which fields are wrong, where the API says so: `details.causes` of its Status. */
  readonly causes: StoreErrorCause[];

  constructor(status: number, reason: string, message: string, causes: StoreErrorCause[] = []) {
    super(message);
    this.status = status;
    this.reason = reason;
    this.causes = causes;
  }
}

/** The object is gone, or never was. */
export function isNotFound(error: unknown): boolean {
  return error instanceof StoreError && error.status === 404;
}

/** A precondition did not hold. AlreadyExists, which is 409 too, is not meant. */
export function isConflict(error: unknown): boolean {
  return error instanceof StoreError && error.status === 409 && error.reason !== "AlreadyExists";
}

export function isAlreadyExists(error: unknown): boolean {
  return error instanceof StoreError && error.reason === "AlreadyExists";
}

/** Returns the group of an apiVersion, "" for core. */
export function groupOf(apiVersion: string): string {
  return apiVersion.includes("/") ? apiVersion.slice(0, apiVersion.indexOf("/")) : "";
}

/** `<namespace>/<name>`, or `<name>` if cluster-scoped. */
export function keyOf(metadata: { namespace?: string | undefined; name: string }): string {
  return metadata.namespace ? `${metadata.namespace}/${metadata.name}` : metadata.name;
}

/** Splits what {@link keyOf} made. */
export function splitKey(key: string): { namespace: string | undefined; name: string } {
  const slash = key.indexOf("/");
  return slash < 0
    ? { namespace: undefined, name: key }
    : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}
