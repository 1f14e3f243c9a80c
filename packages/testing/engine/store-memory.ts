/** A Kubernetes API in memory, for tests: preconditions, status, generations, garbage, watches and faults. No I/O. @module */
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

/** A request as faults are shown it. */
export interface StoreRequest {
  verb: Verb;
  resource: Resource;
  namespace: string | undefined;
  name: string;
}

/** What goes wrong with one request. */
export interface Fault {
  /** Milliseconds before the request is looked at. */
  delayMs?: number;
  /** What the caller is told instead of the answer. */
  error?: Error;
  /** Whether a write with `error` is carried out all the same: an answer that got lost. */
  applied?: boolean;
}

/**
 * `admit` completes or refuses (by throwing a StoreError) what is about to be stored: defaults, pruning, validation.
 * `watchDelay`: milliseconds by which a watch learns late of an object; order is kept for each resource.
 */
export interface MemoryStoreOptions extends StateOptions {
  clock?: FakeClock;
  /** Decides what goes wrong with a request; undefined if nothing does. */
  fault?: (request: StoreRequest) => Fault | undefined;
}

export interface MemoryStore extends Store {
  clock: FakeClock;
  /**
   * Creates an object or replaces the one of its name, status included, without preconditions: how a test plays everybody
   * else. A CustomResourceDefinition makes its resource served.
   */
  put(object: KubeObject): Promise<KubeObject>;
  /** Returns all objects of a kind, in order of creation. */
  objects(apiVersion: string, kind: string): KubeObject[];
  /** The same requests, answered but not carried out. */
  dryRun: Requests;
  /** All that is served at present. */
  served(): readonly ServedResource[];
  /** The resourceVersion of the last change. */
  version(): string;
}

/** Makes an empty store. What it returns is frozen. */
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

/** Turns what is thrown into a rejection, as every answer of an API comes. */
async function promised<T>(act: () => T): Promise<T> {
  return await act();
}

type Faulty = ReturnType<typeof createFaults>;

/** Wraps requests in what goes wrong with them. */
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
