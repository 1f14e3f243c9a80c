/**
 * The garbage collector of the memory store: deletes objects that have lost their last owner, in the background.
 * @module
 */
import type { KubeObject, OwnerReference } from "../../api/objects/objects.ts";
import type { ServedResource } from "./memory-kinds.ts";
import { finalizersOf } from "./memory-objects.ts";
import type { DeleteOptions } from "./store.ts";

/** The parts of the store that the collector uses; `find` ignores the version. */
export interface Place {
  find(apiVersion: string, kind: string, namespace: string | undefined, name: string): Found | undefined;
  edit(resource: ServedResource, object: KubeObject): void;
  remove(resource: ServedResource, namespace: string | undefined, name: string, wish: DeleteOptions): void;
}

export interface Found {
  resource: ServedResource;
  object: KubeObject;
}

const FOREGROUND = "foregroundDeletion";
const ORPHAN = "orphan";

/**
 * Starts a collector. Call `noticed` on every change. Soon after, it checks objects that have owners, are being
 * deleted, or have lost an owner.
 */
export function startCollector(place: Place): { noticed(object: KubeObject, gone: boolean): void } {
  const suspects = new Map<string, KubeObject>();
  const dependents = new Map<string, Map<string, KubeObject>>();

  function suspect(object: KubeObject): void {
    if (suspects.size === 0) queueMicrotask(collect);
    suspects.set(object.metadata.uid ?? "", object);
  }

  function collect(): void {
    const batch = [...suspects.values()];
    suspects.clear();
    for (const object of batch) {
      const live = current(place, object);
      if (live) judgeOwners(place, live);
      const owner = live && current(place, object);
      if (owner) judgeDependents(place, owner, [...(dependents.get(object.metadata.uid ?? "")?.values() ?? [])]);
    }
  }

  return {
    noticed(object, gone) {
      const { uid = "", ownerReferences = [], deletionTimestamp } = object.metadata;
      for (const owner of ownerReferences) {
        const known = dependents.get(owner.uid) ?? new Map<string, KubeObject>();
        dependents.set(owner.uid, known);
        if (gone) known.delete(uid);
        else known.set(uid, object);
        const waiting = gone && ownerOf(place, object, owner);
        if (waiting) suspect(waiting.object);
      }
      if (gone) dependents.get(uid)?.forEach(suspect);
      else if (ownerReferences.length > 0 || deletionTimestamp) suspect(object);
    },
  };
}

/**
 * Deletes an object if all its owners are deleted or wait for its deletion; if only some are, removes their references.
 */
function judgeOwners(place: Place, { resource, object }: Found): void {
  const { namespace, name, uid = "", ownerReferences = [], deletionTimestamp } = object.metadata;
  if (ownerReferences.length === 0) return;
  const present = ownerReferences.filter((owner) => ownerOf(place, object, owner));
  const solid = present.filter((owner) => !isWaiting(ownerOf(place, object, owner)));
  if (solid.length === ownerReferences.length) return;
  if (solid.length > 0) place.edit(resource, withOwners(object, solid));
  else if (!deletionTimestamp) {
    place.remove(resource, namespace, name, { uid, propagation: present.length > 0 ? "Foreground" : "Background" });
  }
}

/**
 * Ends a foreground deletion when no dependent blocks it any more, and an orphaning one when nothing refers to the
 * owner.
 */
function judgeDependents(place: Place, { resource, object: owner }: Found, known: KubeObject[]): void {
  const { uid } = owner.metadata;
  if (!owner.metadata.deletionTimestamp) return;
  const refersTo = ({ object }: Found) => object.metadata.ownerReferences?.find((reference) => reference.uid === uid);
  const live = () => known.flatMap((object) => current(place, object) ?? []).filter(refersTo);
  const finalizer = finalizersOf(owner).find((name) => name === ORPHAN || name === FOREGROUND);
  if (!finalizer) return;
  for (const found of live()) {
    const others = found.object.metadata.ownerReferences?.filter((reference) => reference.uid !== uid) ?? [];
    if (finalizer === ORPHAN) place.edit(found.resource, withOwners(found.object, others));
    else judgeOwners(place, found);
  }
  const blocked = finalizer === FOREGROUND && live().some((found) => refersTo(found)?.blockOwnerDeletion);
  const finalizers = finalizersOf(owner).filter((name) => name !== finalizer);
  if (!blocked) place.edit(resource, { ...owner, metadata: { ...owner.metadata, finalizers } });
}

function current(place: Place, { apiVersion, kind, metadata }: KubeObject): Found | undefined {
  const found = place.find(apiVersion, kind, metadata.namespace, metadata.name);
  return found?.object.metadata.uid === metadata.uid ? found : undefined;
}

/** Finds an owner: its UID must match, and it must be in the same namespace or cluster-scoped. */
function ownerOf(
  place: Place,
  { metadata }: KubeObject,
  { apiVersion, kind, name, uid }: OwnerReference,
): Found | undefined {
  const found = place.find(apiVersion, kind, metadata.namespace, name);
  return found?.object.metadata.uid === uid ? found : undefined;
}

function isWaiting(owner: Found | undefined): boolean {
  return owner !== undefined && Boolean(owner.object.metadata.deletionTimestamp) &&
    finalizersOf(owner.object).includes(FOREGROUND);
}

function withOwners(object: KubeObject, ownerReferences: OwnerReference[]): KubeObject {
  return { ...object, metadata: { ...object.metadata, ownerReferences } };
}
