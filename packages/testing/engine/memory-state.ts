/** The state of a memory store, and the changes to it: creation, update and deletion. @module */
import { copyJson } from "../../api/objects/exactjson.ts";
import { sameJson } from "../../api/objects/apply.ts";
import type { KubeObject } from "../../api/objects/objects.ts";
import { startCollector } from "./memory-garbage.ts";
import { builtInResources, resourcesOfCrd, type ServedResource, titleOf } from "./memory-kinds.ts";
import { created, deleting, isFinished, updated } from "./memory-objects.ts";
import { createWatches, type Watches } from "./memory-watch.ts";
import { type Clock, type DeleteOptions, groupOf, keyOf, splitKey, StoreError } from "./store.ts";

export type Admit = (object: KubeObject, old: KubeObject | undefined) => KubeObject;
/** A stored or deleted object; `old` is its previous state, undefined if it is new. */
export interface StoredChange {
  resource: ServedResource;
  object: KubeObject;
  old: KubeObject | undefined;
  isGone: boolean;
}

export interface StateOptions {
  admit?: Admit | undefined;
  watchDelay?: ((object: KubeObject) => number) | undefined;
  /** Called for every change when it happens, before the watches get it. */
  onChange?: ((change: StoredChange) => void) | undefined;
}

export interface State {
  clock: Clock;
  admit: Admit;
  served: ServedResource[];
  /** Objects by place, then by name. */
  places: Map<string, Map<string, KubeObject>>;
  /** The last resourceVersion in use. */
  counter: number;
  /** True: writes are tried but not stored. */
  isDry: boolean;
  onChange(change: StoredChange): void;
  watches: Watches;
  collector: { noticed(object: KubeObject, gone: boolean): void };
}

/** Makes an empty state with its garbage collector. */
export function createState(clock: Clock, options: StateOptions): State {
  const { admit = (object: KubeObject) => object, watchDelay, onChange = () => {} } = options;
  const state: State = {
    clock,
    admit,
    onChange,
    isDry: false,
    served: builtInResources(),
    places: new Map(),
    counter: 0,
    watches: createWatches(clock, watchDelay, (resource) => listObjects(state, resource)),
    collector: startCollector({
      find(apiVersion, kind, namespace, name) {
        const resource = state.served.find((r) => r.kind === kind && groupOf(r.apiVersion) === groupOf(apiVersion));
        const key = keyOf({ namespace: resource?.namespaced ? namespace : undefined, name });
        const object = resource && placeOf(state, resource).get(key);
        return object && { resource, object: shownAs(object, resource) };
      },
      edit: (resource, object) => replaceObject(state, resource, object),
      remove: (resource, namespace, name, wish) => removeObject(state, resource, namespace, name, wish),
    }),
  };
  return state;
}

/** Finds a served resource. @throws {StoreError} 404 if there is none */
export function lookup(
  { served }: State,
  what: string,
  matches: (resource: ServedResource) => boolean,
): ServedResource {
  const resource = served.find(matches);
  if (!resource) throw new StoreError(404, "NotFound", `the server could not find the requested resource ${what}`);
  return resource;
}

export function listObjects(state: State, resource: ServedResource): KubeObject[] {
  return [...placeOf(state, resource).values()].map((object) => shownAs(object, resource));
}

/** Finds an object by `<namespace>/<name>`. @throws {StoreError} 404 if there is none */
export function findObject(state: State, resource: ServedResource, key: string): KubeObject {
  const object = placeOf(state, resource).get(key);
  if (!object) throw new StoreError(404, "NotFound", `${titleOf(resource)} "${splitKey(key).name}" not found`);
  return shownAs(object, resource);
}

export function hasObject(state: State, resource: ServedResource, { metadata }: KubeObject): boolean {
  return placeOf(state, resource).has(keyOf(metadata));
}

export function createObject(state: State, resource: ServedResource, object: KubeObject): KubeObject {
  const fresh = state.admit(created(resource, clone(object), state.clock, ++state.counter), undefined);
  if (hasObject(state, resource, fresh)) {
    throw new StoreError(409, "AlreadyExists", `${titleOf(resource)} "${fresh.metadata.name}" already exists`);
  }
  return keep(state, resource, fresh, undefined);
}

/** Replaces an object except its status, or only its status. */
export function replaceObject(
  state: State,
  resource: ServedResource,
  object: KubeObject,
  part: "all" | "status" = "all",
): KubeObject {
  const old = findObject(state, resource, keyOf(object.metadata));
  const next = updated(resource, old, clone(object), part, (object) => state.admit(object, old));
  return sameJson(next, old) ? old : keep(state, resource, next, old);
}

export function removeObject(
  state: State,
  resource: ServedResource,
  namespace: string | undefined,
  name: string,
  wish: DeleteOptions = {},
): void {
  const old = findObject(state, resource, keyOf({ namespace, name }));
  const next = deleting(old, wish, state.clock);
  if (!sameJson(next, old)) keep(state, resource, next, old);
}

/**
 * Stores the new state of an object, or removes the object if nothing holds it any more; informs collector and watches.
 */
function keep(state: State, resource: ServedResource, object: KubeObject, old: KubeObject | undefined): KubeObject {
  if (state.isDry) return deepFreeze(object);
  const resourceVersion = String(++state.counter);
  const frozen = deepFreeze({ ...object, metadata: { ...object.metadata, resourceVersion } });
  const finished = isFinished(frozen);
  if (finished) placeOf(state, resource).delete(keyOf(frozen.metadata));
  else placeOf(state, resource).set(keyOf(frozen.metadata), frozen);
  if (resource.kind === "CustomResourceDefinition" && !old) state.served.push(...resourcesOfCrd(frozen));
  state.onChange({ resource, object: frozen, old, isGone: finished });
  state.watches.tell(resource, finished ? "deleted" : "changed", frozen);
  state.collector.noticed(frozen, finished);
  return frozen;
}

function placeOf({ places }: State, { place }: ServedResource): Map<string, KubeObject> {
  const objects = places.get(place) ?? new Map<string, KubeObject>();
  places.set(place, objects);
  return objects;
}

function shownAs(object: KubeObject, { apiVersion }: ServedResource): KubeObject {
  return object.apiVersion === apiVersion ? object : deepFreeze({ ...object, apiVersion });
}

function clone(object: KubeObject): KubeObject {
  return copyJson(object);
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.values(value).forEach(deepFreeze);
  return Object.freeze(value);
}
