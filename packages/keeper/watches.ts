/** One watch for each of our kinds in the whole process, each feeding a list of event handlers. Decides nothing. @module */
import { type Sandbox, sandboxSchema } from "../api/sandbox.ts";
import { type SandboxClaim, sandboxClaimSchema } from "../api/sandboxclaim.ts";
import { type SandboxTemplate, sandboxTemplateSchema } from "../api/sandboxtemplate.ts";
import { type SandboxWarmPool, sandboxWarmPoolSchema } from "../api/sandboxwarmpool.ts";
import { type Api, type ObjectPath, pathOf } from "../kube/api.ts";
import { policyToKeep } from "../api/templatepolicy.ts";
import { type EventHandler, isolated, listAndWatch } from "../kube/watch.ts";
import type { Log } from "../process/log.ts";
import type { KubeObject, ObjectMeta } from "../api/objects/objects.ts";

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
