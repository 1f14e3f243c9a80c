/** One watch for each of our kinds in the whole process, each feeding a list of sinks. Decides nothing. @module */
import { type Sandbox, sandboxSchema } from "../api/sandbox.ts";
import { type SandboxClaim, sandboxClaimSchema } from "../api/sandboxclaim.ts";
import { type SandboxTemplate, sandboxTemplateSchema } from "../api/sandboxtemplate.ts";
import { type SandboxWarmPool, sandboxWarmPoolSchema } from "../api/sandboxwarmpool.ts";
import { errorFields, type Log } from "../lib/log.ts";
import type { ObjectMeta } from "../lib/objects.ts";
import { type Api, type ObjectPath, pathOf } from "../kube/api.ts";
import { follow, type Sink } from "../kube/watch.ts";

/** What each kind's watch feeds, in this order; the keys are the kinds' plurals. */
export interface Sinks {
  sandboxes: Sink<Sandbox>[];
  sandboxclaims: Sink<SandboxClaim>[];
  sandboxwarmpools: Sink<SandboxWarmPool>[];
  sandboxtemplates: Sink<SandboxTemplate>[];
}

/** Sinks of what was observed, untouched by the parser: what is sent back must not have defaults that were never written. */
export type RawSinks = { [Kind in "sandboxes" | "sandboxclaims"]?: Sinks[Kind][number] };

export interface WatchesOptions {
  log: Log;
  signal: AbortSignal;
  /** Called once, when every object of every kind has been seen. */
  onListed(): void;
}

type Schema<T> = { safeParse(object: unknown): { data?: T | undefined } };

/** An object with what the parser made of it. */
type Read<T> = { metadata: ObjectMeta; raw: T; read: T };

/** Watches every kind for its sinks until `signal` fires. Claims are listed before Sandboxes: whoever looks for a claim's finds both. */
export async function followAll(
  api: Api,
  sinks: Sinks,
  { log, signal, onListed }: WatchesOptions,
  raw: RawSinks = {},
): Promise<void> {
  const unlisted = new Set<ObjectPath["resource"]>([
    "sandboxtemplates",
    "sandboxwarmpools",
    "sandboxclaims",
    "sandboxes",
  ]);
  const claimsListed = Promise.withResolvers<void>();
  signal.addEventListener("abort", () => claimsListed.resolve());
  const watch = <T extends { metadata: ObjectMeta }>(
    resource: keyof Sinks,
    schema: Schema<T>,
    list: Sink<T>[],
    rawSink?: Sink<T>,
  ) => {
    const onKindListed = () => {
      if (resource === "sandboxclaims") claimsListed.resolve();
      if (unlisted.delete(resource) && unlisted.size === 0) onListed();
    };
    const parse = (object: unknown): Read<T> | undefined => {
      const read = schema.safeParse(object).data;
      return read && { metadata: read.metadata, raw: object as T, read };
    };
    // One object that a sink cannot read would break the watch, each time anew, for all objects of the kind.
    const isolate = (sink: Sink<T>) => isolated(resource, sink, log);
    const sink = fanOut(list.map(isolate), rawSink && isolate(rawSink), onKindListed);
    return follow(api, { path: pathOf({ resource }), parse }, sink, { log, signal });
  };
  await Promise.all([
    watch("sandboxtemplates", sandboxTemplateSchema, sinks.sandboxtemplates),
    watch("sandboxwarmpools", sandboxWarmPoolSchema, sinks.sandboxwarmpools),
    watch("sandboxclaims", sandboxClaimSchema, sinks.sandboxclaims, raw.sandboxclaims),
    claimsListed.promise.then(() => watch("sandboxes", sandboxSchema, sinks.sandboxes, raw.sandboxes)),
  ]);
}

function fanOut<T>(sinks: readonly Sink<T>[], raw: Sink<T> | undefined, onListed: () => void): Sink<Read<T>> {
  const all = raw ? [...sinks, raw] : sinks;
  return {
    listing: () => all.forEach((sink) => sink.listing?.()),
    observe(object) {
      // Claims wait for this one.
      raw?.observe(object.raw);
      sinks.forEach((sink) => sink.observe(object.read));
    },
    gone: (uid) => all.forEach((sink) => sink.gone(uid)),
    listed(uids) {
      all.forEach((sink) => sink.listed(uids));
      onListed();
    },
  };
}

/** Wraps a sink. @param name for the log */
export function isolated<T>(name: string, sink: Sink<T>, log: Log): Sink<T> {
  const attempt = (step: () => void) => {
    try {
      step();
    } catch (error) {
      log("error", `Cannot take note for ${name}`, errorFields(error));
    }
  };
  return {
    listing: () => attempt(() => sink.listing?.()),
    observe: (object) => attempt(() => sink.observe(object)),
    gone: (uid) => attempt(() => sink.gone(uid)),
    listed: (uids) => attempt(() => sink.listed(uids)),
  };
}
