/** Groups objects by kind, and changes a parent's children: deletes, then creates and updates, one by one. @module */
import { applyCreate, applyUpdate, sameJson } from "../../api/objects/apply.ts";
import { controllerReference, type KubeObject } from "../../api/objects/objects.ts";
import {
  groupOf,
  isAlreadyExists,
  isConflict,
  isNotFound,
  keyOf,
  type Resource,
  type Store,
  withMetadata,
} from "../store/store.ts";

/** Update methods by `<Kind>.<group>`; a kind without an entry is never updated. */
export type Strategies = ReadonlyMap<string, string>;

/** The objects of one kind by `<namespace>/<name>`; empty if a rule names the kind and no object exists. */
interface Group {
  apiVersion: string;
  kind: string;
  objects: Map<string, KubeObject>;
}

/** Groups by `<Kind>.<version>` or `<Kind>.<group>/<version>`. */
export type Groups = Map<string, Group>;

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

/** Returns the key of a kind in {@link Groups}. */
export function kindKey({ apiVersion, kind }: { apiVersion: string; kind: string }): string {
  return `${kind}.${apiVersion}`;
}

/** Returns the group of a kind, and adds it if it is new. */
export function groupFor(groups: Groups, { apiVersion, kind }: { apiVersion: string; kind: string }): Group {
  const group = groups.get(kindKey({ apiVersion, kind })) ?? { apiVersion, kind, objects: new Map() };
  groups.set(kindKey(group), group);
  return group;
}

/** Adds objects to their groups; if two have the same name, the last one stays. */
export function addObjects(groups: Groups, objects: Iterable<KubeObject>): Groups {
  for (const object of objects) groupFor(groups, object).objects.set(keyOf(object.metadata), object);
  return groups;
}

/** Lists the groups in the order in which children are processed: by group, version and kind. */
export function sortedGroups(groups: Groups): Group[] {
  const parts = ({ apiVersion, kind }: Group) => [groupOf(apiVersion), apiVersion.split("/").at(-1) ?? "", kind];
  return [...groups.values()].sort((a, b) => compareAll(parts(a), parts(b)));
}

/**
 * Returns the map that a hook gets.
 *
 * `v2` keys are always `<namespace>/<name>`. `v1` keys are names. For a namespaced parent, `v1` omits objects of other
 * namespaces and cluster-scoped ones; for a cluster-scoped parent, the namespace is part of the key.
 */
export function hookMap(groups: Groups, version: "v1" | "v2", parentNamespace: string | undefined): unknown {
  const relative = version === "v1" && parentNamespace !== undefined;
  return Object.fromEntries([...groups].map(([key, { objects }]) => {
    if (!relative) return [key, Object.fromEntries(objects)];
    const own = [...objects.values()].filter(({ metadata }) => metadata.namespace === parentNamespace);
    return [key, Object.fromEntries(own.map((object) => [object.metadata.name, object]))];
  }));
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

function compareAll(a: string[], b: string[]): number {
  const at = a.findIndex((part, i) => part !== b[i]);
  return at < 0 ? 0 : (a[at] ?? "") < (b[at] ?? "") ? -1 : 1;
}
