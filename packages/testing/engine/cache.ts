/** Caches the objects of one resource by name, with indexes by namespace and controller. @module */
import { controllerOf, type KubeObject } from "../../api/objects/objects.ts";
import { keyOf } from "./store.ts";

export interface Cache {
  get(namespace: string | undefined, name: string): KubeObject | undefined;
  list(namespace?: string): KubeObject[];
  /** Returns the objects whose controller has this UID. */
  ownedBy(uid: string, namespace?: string): KubeObject[];
  /** Returns the objects without a controller. */
  orphans(namespace?: string): KubeObject[];
}

export interface WritableCache extends Cache {
  /** Stores an object; returns the object that it replaces, if any. */
  put(object: KubeObject): KubeObject | undefined;
  drop(object: KubeObject): KubeObject | undefined;
}

type Index = Map<string, Map<string, KubeObject>>;

/** Makes an empty cache. */
export function createCache(): WritableCache {
  const all = new Map<string, KubeObject>();
  const byNamespace: Index = new Map();
  const byOwner: Index = new Map();
  const orphans: Index = new Map();

  function placesOf({ metadata }: KubeObject): [Index, string][] {
    const namespace = metadata.namespace ?? "";
    const owner = controllerOf(metadata);
    return [[byNamespace, namespace], owner ? [byOwner, owner.uid] : [orphans, namespace]];
  }

  function drop({ metadata }: KubeObject): KubeObject | undefined {
    const key = keyOf(metadata);
    const old = all.get(key);
    if (!old) return undefined;
    all.delete(key);
    for (const [index, value] of placesOf(old)) remove(index, value, key);
    return old;
  }

  return {
    drop,
    put(object) {
      const old = drop(object);
      all.set(keyOf(object.metadata), object);
      for (const [index, value] of placesOf(object)) insert(index, value, keyOf(object.metadata), object);
      return old;
    },
    get: (namespace, name) => all.get(keyOf({ namespace, name })),
    list: (namespace) => [...(namespace === undefined ? all : byNamespace.get(namespace) ?? []).values()],
    ownedBy: (uid, namespace) => inNamespace([...(byOwner.get(uid)?.values() ?? [])], namespace),
    orphans: (namespace) =>
      namespace === undefined
        ? [...orphans.values()].flatMap((objects) => [...objects.values()])
        : [...(orphans.get(namespace)?.values() ?? [])],
  };
}

function inNamespace(objects: KubeObject[], namespace: string | undefined): KubeObject[] {
  return namespace === undefined ? objects : objects.filter(({ metadata }) => metadata.namespace === namespace);
}

function insert(index: Index, value: string, key: string, object: KubeObject): void {
  const objects = index.get(value) ?? new Map<string, KubeObject>();
  objects.set(key, object);
  index.set(value, objects);
}

function remove(index: Index, value: string, key: string): void {
  const objects = index.get(value);
  objects?.delete(key);
  if (objects?.size === 0) index.delete(value);
}
