/**
 * Runs one watch per kind for the whole process; each feeds a list of event handlers. Requeues objects that wait for an
 * object they name when that is created, changed or deleted.
 * @module
 */
import { type Sandbox, sandboxSchema } from "../api/sandbox.ts";
import { type SandboxClaim, sandboxClaimSchema } from "../api/sandboxclaim.ts";
import { type SandboxTemplate, sandboxTemplateSchema } from "../api/sandboxtemplate.ts";
import { type SandboxWarmPool, sandboxWarmPoolSchema } from "../api/sandboxwarmpool.ts";
import { type Api, type ObjectPath, pathOf } from "../kube/api.ts";
import { policyToKeep } from "../api/templatepolicy.ts";
import { type EventHandler, isolated, listAndWatch } from "../kube/watch.ts";
import type { Log } from "../process/log.ts";
import type { KubeObject, ObjectMeta } from "../api/objects/objects.ts";
import type { Store } from "../kube/store.ts";
import { type Kept, type Named, toKeep } from "../kube/kept.ts";
import type { ReconcileQueue } from "../kube/reconcilequeue.ts";

/** The event handlers of each kind, in the order of their calls. The keys are the plural names of the kinds. */
export interface EventHandlers {
  sandboxes: EventHandler<Sandbox>[];
  sandboxclaims: EventHandler<SandboxClaim>[];
  sandboxwarmpools: EventHandler<SandboxWarmPool>[];
  sandboxtemplates: EventHandler<SandboxTemplate>[];
  /** NetworkPolicies, as `policyToKeep` returns them. */
  networkpolicies: EventHandler<KubeObject>[];
}

/** Event handlers of objects as observed, not parsed: a write must not add defaults that were never written. */
type RawEventHandlers = { [Kind in "sandboxes" | "sandboxclaims"]?: EventHandlers[Kind][number] };

export interface WatchesOptions {
  log: Log;
  signal: AbortSignal;
  /** Called once, when all objects of every kind have been listed. */
  onListed(): void;
}

type Schema<T> = { safeParse(object: unknown): { data?: T | undefined } };

/** An object as observed and as parsed. */
type Read<T> = { metadata: ObjectMeta; raw: T; read: T };

/**
 * Watches every kind for its event handlers until `signal` fires. Claims are listed before Sandboxes, so that the claim
 * of a Sandbox is always known.
 */
export async function listAndWatchAll(
  api: Api,
  handlers: EventHandlers,
  { log, signal, onListed }: WatchesOptions,
  raw: RawEventHandlers = {},
): Promise<void> {
  const unlisted = new Set<ObjectPath["resource"]>([
    "networkpolicies",
    "sandboxtemplates",
    "sandboxwarmpools",
    "sandboxclaims",
    "sandboxes",
  ]);
  const claimsListed = Promise.withResolvers<void>();
  signal.addEventListener("abort", () => claimsListed.resolve());
  const watch = <T extends { metadata: ObjectMeta }>(
    resource: keyof EventHandlers,
    schema: Schema<T>,
    list: EventHandler<T>[],
    rawHandler?: EventHandler<T>,
  ) => {
    const onKindListed = () => {
      if (resource === "sandboxclaims") claimsListed.resolve();
      if (unlisted.delete(resource) && unlisted.size === 0) onListed();
    };
    const parse = (object: unknown): Read<T> | undefined => {
      const read = schema.safeParse(object).data;
      return read && { metadata: read.metadata, raw: object as T, read };
    };
    // Otherwise, an object that an event handler cannot read would break the watch of the whole kind, again and again.
    const isolate = (handler: EventHandler<T>) => isolated(resource, handler, log);
    const handler = fanOut(list.map(isolate), rawHandler && isolate(rawHandler), onKindListed);
    return listAndWatch(api, { path: pathOf({ resource }), parse }, handler, { log, signal });
  };
  const policySchema = { safeParse: (object: unknown) => ({ data: policyToKeep(object) }) };
  await Promise.all([
    watch("networkpolicies", policySchema, handlers.networkpolicies),
    watch("sandboxtemplates", sandboxTemplateSchema, handlers.sandboxtemplates),
    watch("sandboxwarmpools", sandboxWarmPoolSchema, handlers.sandboxwarmpools),
    watch("sandboxclaims", sandboxClaimSchema, handlers.sandboxclaims, raw.sandboxclaims),
    claimsListed.promise.then(() => watch("sandboxes", sandboxSchema, handlers.sandboxes, raw.sandboxes)),
  ]);
}

function fanOut<T>(
  handlers: readonly EventHandler<T>[],
  raw: EventHandler<T> | undefined,
  onListed: () => void,
): EventHandler<Read<T>> {
  const all = raw ? [...handlers, raw] : handlers;
  return {
    listing: () => all.forEach((handler) => handler.listing?.()),
    observe(object) {
      // The raw handler is the binder's, and claims wait for it.
      raw?.observe(object.raw);
      handlers.forEach((handler) => handler.observe(object.read));
    },
    gone: (uid) => all.forEach((handler) => handler.gone(uid)),
    listed(uids, version) {
      all.forEach((handler) => handler.listed?.(uids, version));
      onListed();
    },
  };
}

export interface Waiting<T> extends EventHandler<T> {
  /** Requeues the objects that wait for `key`; without a key, all waiting objects. */
  requeue(key?: string): void;
}

/**
 * Creates an event handler in front of a queue, which remembers what each object waits for.
 *
 * @param keyOf returns the key of what an object waits for; undefined: nothing, so the object is not remembered
 */
export function createWaiting<T extends Named>(
  queue: ReconcileQueue<T>,
  keyOf: (object: T) => string | undefined,
): Waiting<T> {
  const keys = new Map<string, string>();
  const groups = new Map<string, Map<string, Kept<T>>>();

  function keep(uid: string, key: string, object: T): void {
    const group = groups.get(key) ?? new Map<string, Kept<T>>();
    groups.set(key, group.set(uid, toKeep(object)));
    keys.set(uid, key);
  }

  function drop(uid: string): void {
    const key = keys.get(uid);
    if (key === undefined) return;
    keys.delete(uid);
    const group = groups.get(key);
    group?.delete(uid);
    if (group?.size === 0) groups.delete(key);
  }

  return {
    listing: () => queue.listing?.(),
    observe(object) {
      const { uid = "" } = object.metadata;
      const key = keyOf(object);
      if (keys.get(uid) !== key) drop(uid);
      if (key !== undefined) keep(uid, key, object);
      queue.observe(object);
    },
    gone(uid) {
      drop(uid);
      queue.gone(uid);
    },
    requeue(key) {
      const found = key === undefined ? [...groups.values()] : [groups.get(key) ?? new Map<string, Kept<T>>()];
      for (const kept of found.flatMap((group) => [...group.values()])) queue.requeue(kept);
    },
  };
}

/**
 * Requeues the objects that wait for another object when it is created, changed or deleted. Requeues all waiting
 * objects when the store's list is complete.
 */
export function requeueOnChange<T, Kept>(
  waiting: Waiting<T>,
  store: Pick<Store<never, Kept>, "onChange" | "onSynced">,
  keyOf: (kept: Kept) => string,
): void {
  store.onChange((before, after) => {
    const changed = after ?? before;
    if (changed) waiting.requeue(keyOf(changed));
  });
  store.onSynced(() => waiting.requeue());
}
