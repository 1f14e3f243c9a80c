/**
 * One watch for each of our kinds in the whole process, each feeding a list of event handlers. Objects that wait for what they
 * name are judged anew when that has come, changed or gone. Decides nothing. @module
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
import { type Kept, type Named, toKeep } from "./kept.ts";
import type { ReconcileQueue } from "./reconcilequeue.ts";

/** What each kind's watch feeds, in this order; the keys are the kinds' plurals. */
export interface EventHandlers {
  sandboxes: EventHandler<Sandbox>[];
  sandboxclaims: EventHandler<SandboxClaim>[];
  sandboxwarmpools: EventHandler<SandboxWarmPool>[];
  sandboxtemplates: EventHandler<SandboxTemplate>[];
  /** As `policyToKeep` reads them. */
  networkpolicies: EventHandler<KubeObject>[];
}

/** Event handlers of what was observed, untouched by the parser: what is sent back must not have defaults that were never written. */
type RawEventHandlers = { [Kind in "sandboxes" | "sandboxclaims"]?: EventHandlers[Kind][number] };

export interface WatchesOptions {
  log: Log;
  signal: AbortSignal;
  /** Called once, when every object of every kind has been seen. */
  onListed(): void;
}

type Schema<T> = { safeParse(object: unknown): { data?: T | undefined } };

/** An object with what the parser made of it. */
type Read<T> = { metadata: ObjectMeta; raw: T; read: T };

/** Watches every kind for its event handlers until `signal` fires. Claims are listed before Sandboxes: whoever looks for a claim's finds both. */
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
    // One object that an event handler cannot read would break the watch, each time anew, for all objects of the kind.
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
      // Claims wait for this one.
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
  /** Has the queue judge anew what waits for `key`; without one, all that waits. */
  requeue(key?: string): void;
}

/**
 * Makes an event handler in front of a queue.
 *
 * @param keyOf names what an object waits for; undefined: nothing, so that it is not kept
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

/** Has judged anew what waits for an object when that has come, changed or gone, and all that waits once everything is known. */
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
