/**
 * The garbage collector of the memory store: deletes objects that have lost their last owner, in the background.
 * @module
 */
import type { KubeObject, OwnerReference } from "../../api/objects/objects.ts";
import type { ServedResource } from "./resources.ts";
import { finalizersOf } from "./writes.ts";
import type { DeleteOptions } from "./store.ts";

/** The parts of the store that the collector uses; `find` ignores the version. */
interface GarbageStore {
  find(apiVersion: string, kind: string, namespace: string | undefined, name: string): StoredObject | undefined;
  edit(resource: ServedResource, object: KubeObject): void;
  remove(resource: ServedResource, namespace: string | undefined, name: string, options: DeleteOptions): void;
}

interface StoredObject {
  resource: ServedResource;
  object: KubeObject;
}

const FOREGROUND = "foregroundDeletion";
const ORPHAN = "orphan";

/**
 * Starts a collector. Call `onChange` on every change. Soon after, it checks objects that have owners, are being
 * deleted, or have lost an owner.
 */
export function startCollector(store: GarbageStore): { onChange(object: KubeObject, gone: boolean): void } {
  const pending = new Map<string, KubeObject>();
  const dependents = new Map<string, Map<string, KubeObject>>();

  function enqueue(object: KubeObject): void {
    if (pending.size === 0) queueMicrotask(collect);
    pending.set(object.metadata.uid ?? "", object);
  }

  function collect(): void {
    const batch = [...pending.values()];
    pending.clear();
    for (const object of batch) {
      const live = current(store, object);
      if (live) checkOwners(store, live);
      const owner = live && current(store, object);
      if (owner) checkDependents(store, owner, [...(dependents.get(object.metadata.uid ?? "")?.values() ?? [])]);
    }
  }

  return {
    onChange(object, gone) {
      const { uid = "", ownerReferences = [], deletionTimestamp } = object.metadata;
      for (const owner of ownerReferences) {
        const known = dependents.get(owner.uid) ?? new Map<string, KubeObject>();
        dependents.set(owner.uid, known);
        if (gone) known.delete(uid);
        else known.set(uid, object);
        const waiting = gone && ownerOf(store, object, owner);
        if (waiting) enqueue(waiting.object);
      }
      if (gone) dependents.get(uid)?.forEach(enqueue);
      else if (ownerReferences.length > 0 || deletionTimestamp) enqueue(object);
    },
  };
}

/**
 * Deletes an object if all its owners are deleted or wait for its deletion; if only some are, removes their references.
 */
function checkOwners(store: GarbageStore, { resource, object }: StoredObject): void {
  const { namespace, name, uid = "", ownerReferences = [], deletionTimestamp } = object.metadata;
  if (ownerReferences.length === 0) return;
  const present = ownerReferences.filter((owner) => ownerOf(store, object, owner));
  const remaining = present.filter((owner) => !isWaiting(ownerOf(store, object, owner)));
  if (remaining.length === ownerReferences.length) return;
  if (remaining.length > 0) store.edit(resource, withOwners(object, remaining));
  else if (!deletionTimestamp) {
    store.remove(resource, namespace, name, { uid, propagation: present.length > 0 ? "Foreground" : "Background" });
  }
}

/**
 * Ends a foreground deletion when no dependent blocks it any more, and an orphaning one when nothing refers to the
 * owner.
 */
function checkDependents(store: GarbageStore, { resource, object: owner }: StoredObject, known: KubeObject[]): void {
  const { uid } = owner.metadata;
  if (!owner.metadata.deletionTimestamp) return;
  const refersTo = ({ object }: StoredObject) =>
    object.metadata.ownerReferences?.find((reference) => reference.uid === uid);
  const live = () => known.flatMap((object) => current(store, object) ?? []).filter(refersTo);
  const finalizer = finalizersOf(owner).find((name) => name === ORPHAN || name === FOREGROUND);
  if (!finalizer) return;
  for (const found of live()) {
    const others = found.object.metadata.ownerReferences?.filter((reference) => reference.uid !== uid) ?? [];
    if (finalizer === ORPHAN) store.edit(found.resource, withOwners(found.object, others));
    else checkOwners(store, found);
  }
  const blocked = finalizer === FOREGROUND && live().some((found) => refersTo(found)?.blockOwnerDeletion);
  const finalizers = finalizersOf(owner).filter((name) => name !== finalizer);
  if (!blocked) store.edit(resource, { ...owner, metadata: { ...owner.metadata, finalizers } });
}

function current(store: GarbageStore, { apiVersion, kind, metadata }: KubeObject): StoredObject | undefined {
  const found = store.find(apiVersion, kind, metadata.namespace, metadata.name);
  return found?.object.metadata.uid === metadata.uid ? found : undefined;
}

/** Finds an owner: its UID must match, and it must be in the same namespace or cluster-scoped. */
function ownerOf(
  store: GarbageStore,
  { metadata }: KubeObject,
  { apiVersion, kind, name, uid }: OwnerReference,
): StoredObject | undefined {
  const found = store.find(apiVersion, kind, metadata.namespace, name);
  return found?.object.metadata.uid === uid ? found : undefined;
}

function isWaiting(owner: StoredObject | undefined): boolean {
  return owner !== undefined && Boolean(owner.object.metadata.deletionTimestamp) &&
    finalizersOf(owner.object).includes(FOREGROUND);
}

function withOwners(object: KubeObject, ownerReferences: OwnerReference[]): KubeObject {
  return { ...object, metadata: { ...object.metadata, ownerReferences } };
}
