/** Shared caches of watched resources: one watch per resource for the process, indexed, with ordered handlers. @module */
import { controllerOf, type KubeObject } from "../../lib/objects.ts";
import { keyOf, type Resource, type Store } from "./store.ts";

/** One change: no `old` is an addition, no `current` a deletion, the same object twice a resync. */
export interface Change {
  old?: KubeObject;
  current?: KubeObject;
}

/** Changes of one resource reach all handlers in order; a promise holds up those that follow. */
export type ChangeHandler = (change: Change) => void | Promise<void>;

export interface Informer {
  resource: Resource;
  /** Whether the first list has arrived and been handed out. */
  isSynced(): boolean;
  synced: Promise<void>;
  get(namespace: string | undefined, name: string): KubeObject | undefined;
  list(namespace?: string): KubeObject[];
  /** Objects whose controller has this uid. */
  ownedBy(uid: string, namespace?: string): KubeObject[];
  /** Objects without a controller. */
  orphans(namespace?: string): KubeObject[];
  /** Hands everything cached to the handler as a resync, then every change. Returns the function that ends it. */
  subscribe(handler: ChangeHandler): () => void;
  /** Changes not yet handed out, and the first list while it is awaited. */
  busy(): number;
}

export interface Informers {
  /** Returns the informer of a resource, started on first use. Call `release` once for each call. */
  acquire(resource: Resource): Informer;
  release(informer: Informer): void;
  busy(): number;
}

/** Makes an empty set of shared informers over a store. */
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

  function put(current: KubeObject): void {
    const old = cache.put(current);
    if (old?.metadata.resourceVersion !== current.metadata.resourceVersion) {
      dispatcher.push({ ...(old && { old }), current });
    }
  }

  function drop(object: KubeObject): void {
    const old = cache.drop(object);
    if (old) dispatcher.push({ old: object });
  }

  const stop = store.watch(resource, {
    replace(objects) {
      const kept = new Set(objects.map(({ metadata }) => keyOf(metadata)));
      for (const object of cache.list()) if (!kept.has(keyOf(object.metadata))) drop(object);
      objects.forEach(put);
      dispatcher.pushCall(() => {
        isSynced = true;
        synced.resolve();
      });
    },
    changed: put,
    deleted: drop,
  });
  const informer = {
    ...cache,
    resource,
    isSynced: () => isSynced,
    synced: synced.promise,
    subscribe(handler: ChangeHandler) {
      for (const object of cache.list()) void handler({ old: object, current: object });
      return dispatcher.subscribe(handler);
    },
    busy: () => dispatcher.busy() + (isSynced ? 0 : 1),
  };
  return { informer, stop };
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

type Index = Map<string, Map<string, KubeObject>>;

function createCache() {
  const all = new Map<string, KubeObject>();
  const byNamespace: Index = new Map();
  const byOwner: Index = new Map();
  const orphansByNamespace: Index = new Map();

  function forget(old: KubeObject): void {
    const key = keyOf(old.metadata);
    all.delete(key);
    for (const [index, value] of placesOf(old)) remove(index, value, key);
  }

  function placesOf(object: KubeObject): [Index, string][] {
    const namespace = object.metadata.namespace ?? "";
    const owner = controllerOf(object.metadata);
    return [[byNamespace, namespace], owner ? [byOwner, owner.uid] : [orphansByNamespace, namespace]];
  }

  return {
    put(object: KubeObject): KubeObject | undefined {
      const key = keyOf(object.metadata);
      const old = all.get(key);
      if (old) forget(old);
      all.set(key, object);
      for (const [index, value] of placesOf(object)) insert(index, value, key, object);
      return old;
    },
    drop(object: KubeObject): KubeObject | undefined {
      const old = all.get(keyOf(object.metadata));
      if (old) forget(old);
      return old;
    },
    get: (namespace: string | undefined, name: string) => all.get(keyOf({ namespace, name })),
    list: (namespace?: string) => [...(namespace === undefined ? all : byNamespace.get(namespace) ?? []).values()],
    ownedBy: (uid: string, namespace?: string) =>
      [...(byOwner.get(uid)?.values() ?? [])].filter((o) =>
        namespace === undefined || o.metadata.namespace === namespace
      ),
    orphans: (namespace?: string) =>
      namespace === undefined
        ? [...orphansByNamespace.values()].flatMap((objects) => [...objects.values()])
        : [...(orphansByNamespace.get(namespace)?.values() ?? [])],
  };
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
