/**
 * A Kubernetes API in memory for tests, with preconditions, generations, garbage collection, watches and faults. No
 * I/O.
 * @module
 */
import { sameJson } from "../../api/objects/apply.ts";
import { copyJson } from "../../api/objects/json.ts";
import type { KubeObject } from "../../api/objects/objects.ts";
import { createFakeClock, type FakeClock } from "../clock.ts";
import { startCollector } from "./garbage.ts";
import { builtInResources, resourcesOfCrd, type ServedResource, titleOf } from "./resources.ts";
import {
  type Clock,
  type DeleteOptions,
  groupOf,
  keyOf,
  type Resource,
  splitKey,
  type Store,
  StoreError,
  type WatchHandler,
} from "./store.ts";
import { created, isFinished, markedForDeletion, updated } from "./writes.ts";

type Verb = "get" | "list" | "create" | "update" | "updateStatus" | "delete";

/** A request, for the function that decides about faults. */
interface StoreRequest {
  verb: Verb;
  resource: Resource;
  namespace: string | undefined;
  name: string;
}

/** What goes wrong with a request. */
interface Fault {
  /** Delay until the request is processed, in milliseconds. */
  delayMs?: number;
  /** The error that the caller gets instead of the answer. */
  error?: Error;
  /** True: a write with `error` is still carried out, as if its answer got lost. */
  applied?: boolean;
}

/**
 * `admit` sets defaults on an object that is about to be stored, removes unknown fields, and validates it; it refuses
 * the object with a StoreError. `watchDelay` is the delay until a watch sees an object, in milliseconds; the order is
 * kept for each resource.
 */
export interface MemoryStoreOptions extends StateOptions {
  clock?: FakeClock;
  /** Decides what goes wrong with a request; undefined: nothing. */
  fault?: (request: StoreRequest) => Fault | undefined;
}

export interface MemoryStore extends Store {
  clock: FakeClock;
  /**
   * Creates an object, or replaces the one with its name, including its status and without preconditions. A test uses
   * it to play all other clients. After a CustomResourceDefinition is put, its resource is served.
   */
  put(object: KubeObject): Promise<KubeObject>;
  /** Returns all objects of a kind, in order of creation. */
  objects(apiVersion: string, kind: string): KubeObject[];
  /** The same requests as a dry run: answered, but not carried out. */
  dryRun: Requests;
  /** All resources that are served now. */
  served(): readonly ServedResource[];
  /** The resourceVersion of the last change. */
  version(): string;
}

type Requests = Pick<Store, "get" | "list" | "create" | "update" | "updateStatus" | "delete">;

type Admit = (object: KubeObject, old: KubeObject | undefined) => KubeObject;
/** A stored or deleted object; `old` is its previous state, undefined if it is new. */
export interface StoredChange {
  resource: ServedResource;
  object: KubeObject;
  old: KubeObject | undefined;
  isGone: boolean;
}

interface StateOptions {
  admit?: Admit | undefined;
  watchDelay?: ((object: KubeObject) => number) | undefined;
  /** Called for every change when it happens, before the watches get it. */
  onChange?: ((change: StoredChange) => void) | undefined;
}

/** Makes an empty store. The objects that it returns are frozen. */
export function createMemoryStore({ clock = createFakeClock(), ...options }: MemoryStoreOptions = {}): MemoryStore {
  const state = createState(clock, options);
  const byKind = (apiVersion: string, kind: string) =>
    lookup(state, `${kind}.${apiVersion}`, (served) => served.apiVersion === apiVersion && served.kind === kind);
  const byPlural = (apiVersion: string, plural: string) =>
    lookup(state, `${plural}.${apiVersion}`, (served) => served.apiVersion === apiVersion && served.plural === plural);
  const own = ({ apiVersion, kind }: Resource) => byKind(apiVersion, kind);
  return {
    clock,
    resource: (apiVersion, plural) => promised(() => byPlural(apiVersion, plural)),
    kind: (apiVersion, kind) => promised(() => byKind(apiVersion, kind)),
    ...createRequests(state, own, createFaults(clock, options.fault)),
    dryRun: createRequests({ ...state, isDry: true }, own, createFaults(clock, undefined)),
    served: () => state.served,
    version: () => String(state.counter),
    watch: ({ apiVersion, kind }, handler) => state.watches.add(byKind(apiVersion, kind), handler),
    objects: (apiVersion, kind) => listObjects(state, byKind(apiVersion, kind)),
    put: (object) => promised(() => put(state, byKind(object.apiVersion, object.kind), object)),
  };
}

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
export function findByName(store: MemoryStore, kind: string, name: string, namespace?: string): KubeObject | undefined {
  return objectsOf(store, kind, namespace).find(({ metadata }) => metadata.name === name);
}

/** Returns the current state of an object; undefined if it is deleted, even if another object has its name. */
export function currentOf(store: MemoryStore, { kind, metadata }: KubeObject): KubeObject | undefined {
  const live = findByName(store, kind, metadata.name, metadata.namespace);
  return live?.metadata.uid === metadata.uid ? live : undefined;
}

/** Deletes an object; finalizers can delay its end. */
export async function deleteObject(
  store: MemoryStore,
  { apiVersion, kind, metadata }: KubeObject,
  propagation: NonNullable<DeleteOptions["propagation"]> = "Background",
): Promise<void> {
  await store.delete(await store.kind(apiVersion, kind), metadata.namespace, metadata.name, { propagation });
}

function createRequests(state: State, own: (resource: Resource) => ServedResource, faulty: Faulty): Requests {
  const write = (verb: Verb, resource: Resource, { metadata }: KubeObject, act: () => KubeObject) =>
    faulty({ verb, resource, namespace: metadata.namespace, name: metadata.name }, act);
  return {
    get: (resource, namespace, name) =>
      faulty(
        { verb: "get", resource, namespace, name },
        () => findObject(state, own(resource), keyOf({ namespace, name })),
      ),
    list: (resource, namespace) =>
      faulty({ verb: "list", resource, namespace, name: "" }, () => {
        const objects = listObjects(state, own(resource));
        return objects.filter(({ metadata }) => namespace === undefined || metadata.namespace === namespace);
      }),
    create: (resource, object) => write("create", resource, object, () => createObject(state, own(resource), object)),
    update: (resource, object) => write("update", resource, object, () => replaceObject(state, own(resource), object)),
    updateStatus: (resource, object) =>
      write("updateStatus", resource, object, () => replaceObject(state, own(resource), object, "status")),
    delete: (resource, namespace, name, deleteOptions) =>
      faulty(
        { verb: "delete", resource, namespace, name },
        () => removeObject(state, own(resource), namespace, name, deleteOptions),
      ),
  };
}

/** Turns an exception into a rejected promise: callers get all answers of an API as promises. */
async function promised<T>(act: () => T): Promise<T> {
  return await act();
}

type Faulty = ReturnType<typeof createFaults>;

/** Returns a function that sends a request, with the delay and the error that a test wants for it. */
function createFaults(clock: FakeClock, faultOf: MemoryStoreOptions["fault"]) {
  return async <T>(request: StoreRequest, act: () => T): Promise<T> => {
    const { delayMs, error, applied = false } = faultOf?.(request) ?? {};
    if (delayMs !== undefined) await new Promise<void>((resolve) => clock.setTimeout(resolve, delayMs));
    if (error && !applied) throw error;
    const answer = act();
    if (error) throw error;
    return answer;
  };
}

function put(state: State, resource: ServedResource, object: KubeObject): KubeObject {
  const { resourceVersion: _, uid: __, ...metadata } = object.metadata;
  const free = { ...object, metadata };
  const exists = hasObject(state, resource, object);
  const written = exists ? replaceObject(state, resource, free) : createObject(state, resource, free);
  if (!resource.hasStatus || object["status"] === undefined || isFinished(written)) return written;
  return replaceObject(state, resource, { ...written, status: object["status"] }, "status");
}

interface State {
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
  collector: { onChange(object: KubeObject, gone: boolean): void };
}

function createState(clock: Clock, options: StateOptions): State {
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
      remove: (resource, namespace, name, deleteOptions) =>
        removeObject(state, resource, namespace, name, deleteOptions),
    }),
  };
  return state;
}

/** Finds a served resource. @throws {StoreError} 404 if there is none */
function lookup(
  { served }: State,
  what: string,
  matches: (resource: ServedResource) => boolean,
): ServedResource {
  const resource = served.find(matches);
  if (!resource) throw new StoreError(404, "NotFound", `the server could not find the requested resource ${what}`);
  return resource;
}

function listObjects(state: State, resource: ServedResource): KubeObject[] {
  return [...placeOf(state, resource).values()].map((object) => shownAs(object, resource));
}

/** Finds an object by `<namespace>/<name>`. @throws {StoreError} 404 if there is none */
function findObject(state: State, resource: ServedResource, key: string): KubeObject {
  const object = placeOf(state, resource).get(key);
  if (!object) throw new StoreError(404, "NotFound", `${titleOf(resource)} "${splitKey(key).name}" not found`);
  return shownAs(object, resource);
}

function hasObject(state: State, resource: ServedResource, { metadata }: KubeObject): boolean {
  return placeOf(state, resource).has(keyOf(metadata));
}

function createObject(state: State, resource: ServedResource, object: KubeObject): KubeObject {
  const fresh = state.admit(created(resource, clone(object), state.clock, ++state.counter), undefined);
  if (hasObject(state, resource, fresh)) {
    throw new StoreError(409, "AlreadyExists", `${titleOf(resource)} "${fresh.metadata.name}" already exists`);
  }
  return commit(state, resource, fresh, undefined);
}

/** Replaces an object except its status, or only its status. */
function replaceObject(
  state: State,
  resource: ServedResource,
  object: KubeObject,
  part: "all" | "status" = "all",
): KubeObject {
  const old = findObject(state, resource, keyOf(object.metadata));
  const next = updated(resource, old, clone(object), part, (object) => state.admit(object, old));
  return sameJson(next, old) ? old : commit(state, resource, next, old);
}

function removeObject(
  state: State,
  resource: ServedResource,
  namespace: string | undefined,
  name: string,
  deleteOptions: DeleteOptions = {},
): void {
  const old = findObject(state, resource, keyOf({ namespace, name }));
  const next = markedForDeletion(old, deleteOptions, state.clock);
  if (!sameJson(next, old)) commit(state, resource, next, old);
}

/**
 * Stores the new state of an object, or removes the object if nothing holds it any more; informs collector and watches.
 */
function commit(state: State, resource: ServedResource, object: KubeObject, old: KubeObject | undefined): KubeObject {
  if (state.isDry) return deepFreeze(object);
  const resourceVersion = String(++state.counter);
  const frozen = deepFreeze({ ...object, metadata: { ...object.metadata, resourceVersion } });
  const finished = isFinished(frozen);
  if (finished) placeOf(state, resource).delete(keyOf(frozen.metadata));
  else placeOf(state, resource).set(keyOf(frozen.metadata), frozen);
  if (resource.kind === "CustomResourceDefinition" && !old) state.served.push(...resourcesOfCrd(frozen));
  state.onChange({ resource, object: frozen, old, isGone: finished });
  state.watches.notify(resource, finished ? "deleted" : "changed", frozen);
  state.collector.onChange(frozen, finished);
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

interface Watches {
  /** Passes all existing objects to a handler, then every change. The returned function ends the watch. */
  add(resource: ServedResource, handler: WatchHandler): () => void;
  notify(resource: ServedResource, type: "changed" | "deleted", object: KubeObject): void;
}

/** Makes an empty set of watches. Without a delay, a change is passed on as soon as the current code has finished. */
function createWatches(
  clock: Clock,
  delay: ((object: KubeObject) => number) | undefined,
  list: (resource: ServedResource) => KubeObject[],
): Watches {
  const watching = new Set<{ resource: ServedResource; handler: WatchHandler }>();
  const lastDue = new Map<string, number>();

  function later(place: string, milliseconds: number, run: () => void): void {
    const due = Math.max(lastDue.get(place) ?? 0, clock.now() + milliseconds);
    lastDue.set(place, due);
    if (delay && due > clock.now()) clock.setTimeout(run, due - clock.now());
    else queueMicrotask(run);
  }

  return {
    add(resource, handler) {
      const watch = { resource, handler };
      const objects = list(resource);
      watching.add(watch);
      later(resource.place, 0, () => watching.has(watch) && handler.replace(objects));
      return () => void watching.delete(watch);
    },
    notify({ place }, type, object) {
      for (const watch of watching) {
        if (watch.resource.place !== place) continue;
        const { apiVersion } = watch.resource;
        const shown = object.apiVersion === apiVersion ? object : { ...object, apiVersion };
        later(place, delay?.(object) ?? 0, () => watching.has(watch) && watch.handler[type](shown));
      }
    },
  };
}
