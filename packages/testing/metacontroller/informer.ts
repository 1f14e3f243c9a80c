/**
 * Shared caches of watched resources: one watch per resource in this process, with indexes and ordered handlers.
 * @module
 */
import { controllerOf, type KubeObject } from "../../api/objects/objects.ts";
import { keyOf, type Resource, type Store } from "../store/store.ts";

/** A change. Without `old` it is an addition, without `current` a deletion; with the same object twice, a resync. */
export interface Change {
  old?: KubeObject;
  current?: KubeObject;
}

/** Gets the changes of one resource in order. If it returns a promise, later changes wait for it. */
type ChangeHandler = (change: Change) => void | Promise<void>;

export interface Informer extends Cache {
  resource: Resource;
  /** Tells whether the first list has arrived and all handlers have got it. */
  isSynced(): boolean;
  synced: Promise<void>;
  /** Calls the handler for all cached objects as a resync, then for every change. The returned function ends that. */
  subscribe(handler: ChangeHandler): () => void;
  /** Number of changes that handlers have not got yet; also counts a first list that has not arrived. */
  busy(): number;
}

export interface Informers {
  /** Returns the informer of a resource, which starts on first use. Each call needs a `release`. */
  acquire(resource: Resource): Informer;
  release(informer: Informer): void;
  busy(): number;
}

interface Cache {
  get(namespace: string | undefined, name: string): KubeObject | undefined;
  list(namespace?: string): KubeObject[];
  /** Returns the objects whose controller has this UID. */
  ownedBy(uid: string, namespace?: string): KubeObject[];
  /** Returns the objects without a controller. */
  orphans(namespace?: string): KubeObject[];
}

/** Makes an empty set of shared informers for a store. */
export function createInformers(store: Store): Informers {
  const shared = new Map<string, { informer: Informer; users: number; stop: () => void }>();
  const keyOfResource = (resource: Resource) => `${resource.apiVersion}/${resource.plural}`;
  return {
    acquire(resource) {
      const key = keyOfResource(resource);
      const entry = shared.get(key) ?? { ...startInformer(store, resource), users: 0 };
      entry.users++;
      shared.set(key, entry);
      return entry.informer;
    },
    release(informer) {
      const key = keyOfResource(informer.resource);
      const entry = shared.get(key);
      if (!entry || --entry.users > 0) return;
      shared.delete(key);
      entry.stop();
    },
    busy: () => [...shared.values()].reduce((sum, { informer }) => sum + informer.busy(), 0),
  };
}

function startInformer(store: Store, resource: Resource): { informer: Informer; stop: () => void } {
  const cache = createCache();
  const dispatcher = createDispatcher();
  const synced = Promise.withResolvers<void>();
  let isSynced = false;
  const stop = store.watch(resource, {
    replace(objects) {
      const listed = new Set(objects.map(({ metadata }) => keyOf(metadata)));
      for (const object of cache.list()) if (!listed.has(keyOf(object.metadata))) drop(cache, dispatcher, object);
      for (const object of objects) put(cache, dispatcher, object);
      dispatcher.pushCall(() => {
        isSynced = true;
        synced.resolve();
      });
    },
    changed: (object) => put(cache, dispatcher, object),
    deleted: (object) => drop(cache, dispatcher, object),
  });
  const { get, list, ownedBy, orphans } = cache;
  const informer: Informer = {
    resource,
    get,
    list,
    ownedBy,
    orphans,
    isSynced: () => isSynced,
    synced: synced.promise,
    subscribe(handler) {
      for (const object of list()) void handler({ old: object, current: object });
      return dispatcher.subscribe(handler);
    },
    busy: () => dispatcher.busy() + (isSynced ? 0 : 1),
  };
  return { informer, stop };
}

type Dispatcher = ReturnType<typeof createDispatcher>;

function put(cache: WritableCache, dispatcher: Dispatcher, current: KubeObject): void {
  const old = cache.put(current);
  if (old?.metadata.resourceVersion !== current.metadata.resourceVersion) {
    dispatcher.push({ ...(old && { old }), current });
  }
}

function drop(cache: WritableCache, dispatcher: Dispatcher, object: KubeObject): void {
  if (cache.drop(object)) dispatcher.push({ old: object });
}

function createDispatcher() {
  const handlers = new Set<ChangeHandler>();
  const pending: (Change | (() => void))[] = [];
  let running = false;

  async function drain(): Promise<void> {
    running = true;
    for (let next = pending[0]; next !== undefined; pending.shift(), next = pending[0]) {
      if (typeof next === "function") next();
      else for (const handle of handlers) await handle(next);
    }
    running = false;
  }

  function push(item: Change | (() => void)): void {
    pending.push(item);
    if (!running) void drain();
  }

  return {
    push: (change: Change): void => push(change),
    pushCall: (call: () => void): void => push(call),
    subscribe(handler: ChangeHandler): () => void {
      handlers.add(handler);
      return () => void handlers.delete(handler);
    },
    busy: () => pending.length,
  };
}

interface WritableCache extends Cache {
  /** Stores an object; returns the object that it replaces, if any. */
  put(object: KubeObject): KubeObject | undefined;
  drop(object: KubeObject): KubeObject | undefined;
}

type Index = Map<string, Map<string, KubeObject>>;

function createCache(): WritableCache {
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
