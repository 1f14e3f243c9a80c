/** A Kubernetes API in memory, for tests: preconditions, status, generations, garbage, watches and faults. No I/O. @module */
import { sameJson } from "../../lib/apply.ts";
import type { KubeObject } from "../../lib/objects.ts";
import { createFakeClock, type FakeClock } from "./fake-clock.ts";
import { startCollector } from "./memory-garbage.ts";
import { builtInResources, resourcesOfCrd, type ServedResource } from "./memory-kinds.ts";
import { created, deleting, isFinished, updated } from "./memory-objects.ts";
import { createWatches } from "./memory-watch.ts";
import { type DeleteOptions, groupOf, keyOf, type Resource, type Store, StoreError } from "./store.ts";

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

export interface MemoryStoreOptions {
  clock?: FakeClock;
  /** Completes or refuses (by throwing a {@link StoreError}) what is about to be stored: defaults, pruning, validation. */
  admit?: (object: KubeObject, old: KubeObject | undefined) => KubeObject;
  /** Decides what goes wrong with a request; undefined if nothing does. */
  fault?: (request: StoreRequest) => Fault | undefined;
  /** Milliseconds by which a watch learns late of an object; order is kept for each resource. */
  watchDelay?: (object: KubeObject) => number;
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
}

/** Makes an empty store. What it returns is frozen. */
export function createMemoryStore(options: MemoryStoreOptions = {}): MemoryStore {
  const clock = options.clock ?? createFakeClock();
  const served: ServedResource[] = builtInResources();
  const places = new Map<string, Map<string, KubeObject>>();
  const watches = createWatches(clock, options.watchDelay, (resource) => listed(resource));
  const admit = options.admit ?? ((object) => object);
  let counter = 0;

  const place = (resource: ServedResource) => {
    const objects = places.get(resource.place) ?? new Map<string, KubeObject>();
    places.set(resource.place, objects);
    return objects;
  };
  const listed = (resource: ServedResource) => [...place(resource).values()].map((object) => shownAs(object, resource));
  const collector = startCollector({
    find(apiVersion, kind, namespace, name) {
      const resource = served.find((r) => r.kind === kind && groupOf(r.apiVersion) === groupOf(apiVersion));
      const object = resource &&
        place(resource).get(keyOf({ namespace: resource.namespaced ? namespace : undefined, name }));
      return object && { resource, object: shownAs(object, resource) };
    },
    edit: replace,
    remove,
  });

  function find(resource: ServedResource, key: string): KubeObject {
    const object = place(resource).get(key);
    if (!object) throw new StoreError(404, "NotFound", `${resource.plural} "${key}" not found`);
    return shownAs(object, resource);
  }

  /** Stores a new state, or the end of the object if nothing holds it any more. */
  function store(resource: ServedResource, object: KubeObject, old: KubeObject | undefined): KubeObject {
    const frozen = deepFreeze({ ...object, metadata: { ...object.metadata, resourceVersion: String(++counter) } });
    const finished = isFinished(frozen);
    if (finished) place(resource).delete(keyOf(frozen.metadata));
    else place(resource).set(keyOf(frozen.metadata), frozen);
    if (resource.kind === "CustomResourceDefinition" && !old) served.push(...resourcesOfCrd(frozen));
    watches.tell(resource, finished ? "deleted" : "changed", frozen);
    collector.noticed(frozen, finished);
    return frozen;
  }

  function create(resource: ServedResource, object: KubeObject): KubeObject {
    const fresh = admit(created(resource, clone(object), clock, ++counter), undefined);
    if (place(resource).has(keyOf(fresh.metadata))) {
      throw new StoreError(409, "AlreadyExists", `${resource.plural} "${fresh.metadata.name}" already exists`);
    }
    return store(resource, fresh, undefined);
  }

  function replace(resource: ServedResource, object: KubeObject, part: "all" | "status" = "all"): KubeObject {
    const old = find(resource, keyOf(object.metadata));
    const next = updated(resource, old, clone(object), part, (object) => admit(object, old));
    return sameJson(next, old) ? old : store(resource, next, old);
  }

  function remove(
    resource: ServedResource,
    namespace: string | undefined,
    name: string,
    wish: DeleteOptions = {},
  ): void {
    const old = find(resource, keyOf({ namespace, name }));
    const next = deleting(old, wish, clock);
    if (!sameJson(next, old)) store(resource, next, old);
  }

  async function request<T>(
    verb: Verb,
    resource: Resource,
    namespace: string | undefined,
    name: string,
    act: (own: ServedResource) => T,
  ) {
    const fault = options.fault?.({ verb, resource, namespace, name });
    if (fault?.delayMs !== undefined) {
      await new Promise<void>((resolve) => clock.setTimeout(resolve, fault.delayMs ?? 0));
    }
    if (fault?.error && !fault.applied) throw fault.error;
    const answer = act(
      lookup(({ apiVersion, kind }) => apiVersion === resource.apiVersion && kind === resource.kind, resource.kind),
    );
    if (fault?.error) throw fault.error;
    return answer;
  }

  function lookup(matches: (resource: ServedResource) => boolean, what: string): ServedResource {
    const resource = served.find(matches);
    if (!resource) throw new StoreError(404, "NotFound", `the server could not find the requested resource ${what}`);
    return resource;
  }

  const byKind = (apiVersion: string, kind: string) =>
    lookup((r) => r.apiVersion === apiVersion && r.kind === kind, `${kind}.${apiVersion}`);

  return {
    clock,
    resource: async (apiVersion, plural) =>
      await lookup((r) => r.apiVersion === apiVersion && r.plural === plural, `${plural}.${apiVersion}`),
    kind: async (apiVersion, kind) => await byKind(apiVersion, kind),
    get: (resource, namespace, name) =>
      request("get", resource, namespace, name, (own) => find(own, keyOf({ namespace, name }))),
    list: (resource, namespace) =>
      request(
        "list",
        resource,
        namespace,
        "",
        (own) => listed(own).filter((object) => namespace === undefined || object.metadata.namespace === namespace),
      ),
    watch: (resource, handler) => watches.add(byKind(resource.apiVersion, resource.kind), handler),
    create: (resource, object) =>
      request("create", resource, object.metadata.namespace, object.metadata.name, (own) => create(own, object)),
    update: (resource, object) =>
      request("update", resource, object.metadata.namespace, object.metadata.name, (own) => replace(own, object)),
    updateStatus: (resource, object) =>
      request(
        "updateStatus",
        resource,
        object.metadata.namespace,
        object.metadata.name,
        (own) => replace(own, object, "status"),
      ),
    delete: (resource, namespace, name, wish) =>
      request("delete", resource, namespace, name, (own) => remove(own, namespace, name, wish)),
    objects: (apiVersion, kind) => listed(byKind(apiVersion, kind)),
    async put(object) {
      const resource = byKind(object.apiVersion, object.kind);
      const { resourceVersion: _, uid: __, ...metadata } = object.metadata;
      const exists = place(resource).has(keyOf(object.metadata));
      const free = { ...object, metadata };
      const written = exists ? replace(resource, free) : create(resource, free);
      if (!resource.hasStatus || object["status"] === undefined || isFinished(written)) return await written;
      return replace(resource, { ...written, status: object["status"] }, "status");
    },
  };
}

function shownAs(object: KubeObject, { apiVersion }: Resource): KubeObject {
  return object.apiVersion === apiVersion ? object : deepFreeze({ ...object, apiVersion });
}

function clone(object: KubeObject): KubeObject {
  return JSON.parse(JSON.stringify(object));
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.values(value).forEach(deepFreeze);
  return Object.freeze(value);
}
