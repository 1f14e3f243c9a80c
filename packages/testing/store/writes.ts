/**
 * Changes an object as the API server does when it is created, updated or deleted. Pure except for the clock.
 * @module
 */
import { sameJson } from "../../api/objects/apply.ts";
import type { KubeObject } from "../../api/objects/objects.ts";
import { kindTitleOf, type ServedResource, titleOf } from "./resources.ts";
import { type Clock, type DeleteOptions, StoreError } from "./store.ts";

/** Metadata that only the server writes. */
const SYSTEM = ["uid", "generation", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"] as const;
const FINALIZER_OF = { Background: undefined, Foreground: "foregroundDeletion", Orphan: "orphan" };

/** Returns a new object as it is stored; `unique` is part of its UID. */
export function created(resource: ServedResource, object: KubeObject, clock: Clock, unique: number): KubeObject {
  const { apiVersion, kind, namespaced, hasStatus, hasGeneration } = resource;
  const { metadata } = object;
  const name = metadata.name ||
    (metadata["generateName"] ? `${metadata["generateName"]}${unique.toString(36).padStart(5, "0")}` : "");
  if (!name) throw invalid(resource, "", "metadata.name: Required value: name or generateName is required");
  if (namespaced !== Boolean(metadata.namespace)) {
    throw new StoreError(400, "BadRequest", `${kind} ${name}: the namespace of the object does not fit the request`);
  }
  if (metadata.resourceVersion) {
    throw new StoreError(400, "BadRequest", "resourceVersion should not be set on objects to be created");
  }
  const fresh = {
    ...withoutEmpty(object),
    apiVersion,
    kind,
    metadata: {
      ...withoutEmpty(without(metadata, SYSTEM)) as KubeObject["metadata"],
      name,
      uid: `00000000-0000-4000-8000-${unique.toString(16).padStart(12, "0")}`,
      creationTimestamp: timeOf(clock),
      ...(hasGeneration && { generation: 1 }),
    },
  };
  checkOwners(resource, fresh);
  return hasStatus ? without(fresh, ["status"]) as KubeObject : fresh;
}

/**
 * Returns the new state of an object after an update, of the whole or only the status; the same state if nothing
 * changes.
 */
export function updated(
  resource: ServedResource,
  old: KubeObject,
  object: KubeObject,
  part: "all" | "status",
  admit: (object: KubeObject) => KubeObject,
): KubeObject {
  checkPreconditions(resource, old, object.metadata);
  if (part === "status" && !resource.hasStatus) {
    throw new StoreError(404, "NotFound", `${resource.plural}/status is not served`);
  }
  const sent = part === "status" ? old : { ...object, apiVersion: old.apiVersion };
  const metadata = {
    ...without(withoutEmpty(sent.metadata), SYSTEM),
    ...pick(old.metadata, [...SYSTEM, "resourceVersion"]),
  };
  const status = part === "status" || !resource.hasStatus ? object["status"] : old["status"];
  const next = admit(
    { ...without(sent, ["status"]), metadata, ...((status ?? null) !== null && { status }) } as KubeObject,
  );
  checkOwners(resource, next);
  checkFinalizers(resource, old, next);
  const ignored = resource.hasStatus ? ["metadata", "status"] : ["metadata"];
  if (!resource.hasGeneration || sameJson(without(next, ignored), without(old, ignored))) return next;
  return { ...next, metadata: { ...next.metadata, generation: (old.metadata.generation ?? 0) + 1 } };
}

/**
 * Returns the state of an object after a delete request: marked for deletion, and held by finalizers if there are any.
 */
export function markedForDeletion(
  old: KubeObject,
  { uid, resourceVersion, propagation = "Background" }: DeleteOptions,
  clock: Clock,
): KubeObject {
  const { metadata } = old;
  for (
    const [what, wanted, actual] of [["UID", uid, metadata.uid], [
      "ResourceVersion",
      resourceVersion,
      metadata.resourceVersion,
    ]]
  ) {
    if (wanted === undefined || wanted === actual) continue;
    throw new StoreError(
      409,
      "Conflict",
      `Precondition failed: ${what} in precondition: ${wanted}, ${what} in object meta: ${actual}`,
    );
  }
  const finalizers = [...new Set([...finalizersOf(old), FINALIZER_OF[propagation]])].filter((name) =>
    name !== undefined
  );
  const marks = metadata.deletionTimestamp ? {} : {
    deletionTimestamp: timeOf(clock),
    deletionGracePeriodSeconds: 0,
    ...(metadata.generation !== undefined && { generation: metadata.generation + 1 }),
  };
  return { ...old, metadata: { ...metadata, ...marks, ...(finalizers.length > 0 && { finalizers }) } };
}

/** Tells whether an object is marked for deletion and has no finalizers. */
export function isFinished(object: KubeObject): boolean {
  return Boolean(object.metadata.deletionTimestamp) && finalizersOf(object).length === 0;
}

export function finalizersOf({ metadata }: KubeObject): string[] {
  return (metadata["finalizers"] ?? []) as string[];
}

function checkPreconditions(
  resource: ServedResource,
  old: KubeObject,
  { uid, resourceVersion, name }: KubeObject["metadata"],
): void {
  if (resource.custom && !resourceVersion && uid) {
    throw invalid(resource, name, "metadata.resourceVersion: must be specified for an update");
  }
  if (uid && uid !== old.metadata.uid) {
    const why = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${old.metadata.uid}`;
    throw new StoreError(409, "Conflict", `Operation cannot be fulfilled on ${titleOf(resource)} "${name}": ${why}`);
  }
  if (resourceVersion && resourceVersion !== old.metadata.resourceVersion) {
    const why = "the object has been modified; please apply your changes to the latest version and try again";
    throw new StoreError(409, "Conflict", `Operation cannot be fulfilled on ${titleOf(resource)} "${name}": ${why}`);
  }
}

function checkOwners(resource: ServedResource, { metadata }: KubeObject): void {
  const controllers = (metadata.ownerReferences ?? []).filter(({ controller }) => controller);
  if (controllers.length > 1) {
    throw invalid(
      resource,
      metadata.name,
      "metadata.ownerReferences: Only one reference can have Controller set to true",
    );
  }
}

function checkFinalizers(resource: ServedResource, old: KubeObject, next: KubeObject): void {
  const added = finalizersOf(next).some((name) => !finalizersOf(old).includes(name));
  if (!old.metadata.deletionTimestamp || !added) return;
  throw invalid(
    resource,
    old.metadata.name,
    "metadata.finalizers: no new finalizers can be added if the object is being deleted",
  );
}

function invalid(resource: ServedResource, name: string, why: string): StoreError {
  return new StoreError(422, "Invalid", `${kindTitleOf(resource)} "${name}" is invalid: ${why}`);
}

/**
 * The server removes empty maps and lists of metadata, and null. One empty entry in `managedFields` removes this list,
 * too.
 */
function withoutEmpty<T extends object>(object: T): T {
  const isEmpty = (key: string, value: unknown) =>
    value === null || (typeof value === "object" && Object.keys(value as object).length === 0) ||
    (key === "managedFields" && sameJson(value, [{}]));
  const maps = ["labels", "annotations", "ownerReferences", "finalizers", "managedFields", "status"];
  return Object.fromEntries(
    Object.entries(object).filter(([key, value]) => !maps.includes(key) || !isEmpty(key, value)),
  ) as T;
}

function without(object: object, fields: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(Object.entries(object).filter(([key]) => !fields.includes(key)));
}

function pick(object: object, fields: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(Object.entries(object).filter(([key]) => fields.includes(key)));
}

function timeOf(clock: Clock): string {
  return new Date(clock.now()).toISOString().replace(/\.\d+Z$/, "Z");
}
