/** Finds, lists and deletes objects in a store by kind and name, in any version. @module */
import type { ServedResource } from "./engine/memory-kinds.ts";
import type { DeleteOptions } from "./engine/store.ts";
import type { MemoryStore } from "./engine/store-memory.ts";
import type { KubeObject } from "../api/objects/objects.ts";

/** Finds the resource of a kind: its first served version. @throws {RangeError} if none is served */
export function resourceOf(store: MemoryStore, kind: string, apiVersion?: string): ServedResource {
  const found = store.served().find((one) =>
    one.kind === kind && (apiVersion === undefined || one.apiVersion === apiVersion)
  );
  if (!found) throw new RangeError(`Cannot find kind "${apiVersion ? `${apiVersion} ` : ""}${kind}": it is not served`);
  return found;
}

/** Lists the objects of a kind, in order of creation; `namespace` undefined: of all namespaces. */
export function objectsOf(store: MemoryStore, kind: string, namespace?: string): KubeObject[] {
  const objects = store.objects(resourceOf(store, kind).apiVersion, kind);
  return namespace === undefined ? objects : objects.filter(({ metadata }) => metadata.namespace === namespace);
}

/** Finds an object by kind and name; undefined if there is none. */
export function findObject(store: MemoryStore, kind: string, name: string, namespace?: string): KubeObject | undefined {
  return objectsOf(store, kind, namespace).find(({ metadata }) => metadata.name === name);
}

/** Returns the current state of an object; undefined if it is deleted, even if another object has its name. */
export function liveOf(store: MemoryStore, { kind, metadata }: KubeObject): KubeObject | undefined {
  const live = findObject(store, kind, metadata.name, metadata.namespace);
  return live?.metadata.uid === metadata.uid ? live : undefined;
}

/** Deletes an object; finalizers can delay its end. */
export async function removeObject(
  store: MemoryStore,
  { apiVersion, kind, metadata }: KubeObject,
  propagation: NonNullable<DeleteOptions["propagation"]> = "Background",
): Promise<void> {
  await store.delete(await store.kind(apiVersion, kind), metadata.namespace, metadata.name, { propagation });
}
