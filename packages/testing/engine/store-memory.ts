/**
 * A Kubernetes API in memory for tests, with preconditions, generations, garbage collection, watches and faults. No
 * I/O.
 * @module
 */
import type { KubeObject } from "../../api/objects/objects.ts";
import { createFakeClock, type FakeClock } from "./fake-clock.ts";
import type { ServedResource } from "./memory-kinds.ts";
import { isFinished } from "./memory-objects.ts";
import {
  createObject,
  createState,
  findObject,
  hasObject,
  listObjects,
  lookup,
  removeObject,
  replaceObject,
  type State,
  type StateOptions,
} from "./memory-state.ts";
import { keyOf, type Resource, type Store } from "./store.ts";

export type Verb = "get" | "list" | "create" | "update" | "updateStatus" | "delete";

/** A request, for the function that decides about faults. */
export interface StoreRequest {
  verb: Verb;
  resource: Resource;
  namespace: string | undefined;
  name: string;
}

/** What goes wrong with a request. */
export interface Fault {
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

type Requests = Pick<Store, "get" | "list" | "create" | "update" | "updateStatus" | "delete">;

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
    delete: (resource, namespace, name, wish) =>
      faulty(
        { verb: "delete", resource, namespace, name },
        () => removeObject(state, own(resource), namespace, name, wish),
      ),
  };
}

/** Turns an exception into a rejected promise: callers get all answers of an API as promises. */
async function promised<T>(act: () => T): Promise<T> {
  return await act();
}

type Faulty = ReturnType<typeof createFaults>;

/** Makes a wrapper that applies faults to requests. */
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
