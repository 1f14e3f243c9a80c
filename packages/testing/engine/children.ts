/**
 * Changes the observed children of a parent into the desired ones: deletes, then creates and updates, one by one.
 * @module
 */
import { applyCreate, applyUpdate, sameJson } from "../../api/objects/apply.ts";
import { controllerReference, type KubeObject } from "../../api/objects/objects.ts";
import { withMetadata } from "./live.ts";
import { type Group, type Groups, kindKey, sortedGroups } from "./objectmap.ts";
import { groupOf, isAlreadyExists, isConflict, isNotFound, type Resource, type Store } from "./store.ts";

/** Update methods by `<Kind>.<group>`; a kind without an entry is never updated. */
export type Strategies = ReadonlyMap<string, string>;

/** Returns the key of a kind in {@link Strategies}, which does not depend on the version. */
export function strategyKey(apiVersion: string, kind: string): string {
  return `${kind}.${groupOf(apiVersion)}`;
}

/**
 * Deletes, creates and updates the children of a parent, kind by kind. After a failure the others are still processed.
 *
 * @throws {Error} with all failures; a child that others have changed, deleted or created in between is not a failure
 */
export async function manageChildren(
  store: Store,
  strategies: Strategies,
  parent: KubeObject,
  observed: Groups,
  desired: Groups,
): Promise<void> {
  const failures: string[] = [];
  const each = async (group: Group, act: (resource: Resource, key: string, object: KubeObject) => Promise<void>) => {
    try {
      const resource = await store.kind(group.apiVersion, group.kind);
      for (const [key, object] of group.objects) {
        await act(resource, key, object).catch((error) => failures.push(messageOf(error)));
      }
    } catch (error) {
      failures.push(messageOf(error));
    }
  };
  for (const group of sortedGroups(observed)) {
    const wanted = desired.get(kindKey(group))?.objects;
    await each(group, async (resource, key, child) => {
      if (!wanted?.has(key) && !child.metadata.deletionTimestamp) await deleteChild(store, resource, child);
    });
  }
  for (const group of sortedGroups(desired)) {
    const existing = observed.get(kindKey(group))?.objects;
    const method = strategies.get(strategyKey(group.apiVersion, group.kind)) ?? "OnDelete";
    await each(group, (resource, key, child) => {
      const old = existing?.get(key);
      return old ? updateChild(store, resource, method, old, child) : createChild(store, resource, parent, child);
    });
  }
  if (failures.length > 0) throw new Error(`Cannot manage children: ${failures.join("; ")}`);
}

/**
 * Deletes a child, with only its UID as a precondition: it is deleted even if it has just changed, or has a new
 * controller.
 */
async function deleteChild(store: Store, resource: Resource, { metadata }: KubeObject): Promise<void> {
  const { namespace, name, uid = "" } = metadata;
  await store.delete(resource, namespace, name, { uid, propagation: "Background" }).catch(unless(isNotFound));
}

async function updateChild(
  store: Store,
  resource: Resource,
  method: string,
  old: KubeObject,
  child: KubeObject,
): Promise<void> {
  const updated = applyUpdate(old, child);
  if (sameJson(updated, old) || old.metadata.deletionTimestamp) return;
  if (method === "OnDelete") return;
  if (method.endsWith("Recreate")) return await deleteChild(store, resource, old);
  await store.update(resource, updated).catch(unless((error) => isNotFound(error) || isConflict(error)));
}

async function createChild(store: Store, resource: Resource, parent: KubeObject, child: KubeObject): Promise<void> {
  const created = applyCreate(child);
  const owners = created.metadata.ownerReferences ?? [];
  const owned = owners.some(({ uid }) => uid === parent.metadata.uid);
  const ownerReferences = owned ? owners : [...owners, controllerReference(parent)];
  await store.create(resource, withMetadata(created, { ownerReferences })).catch(unless(isAlreadyExists));
}

function unless(expected: (error: unknown) => boolean): (error: unknown) => void {
  return (error) => {
    if (!expected(error)) throw error;
  };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
