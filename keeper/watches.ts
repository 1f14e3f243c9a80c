/** One watch for each of our kinds in the whole process, each feeding a list of sinks. Decides nothing. @module */
import { type Sandbox, sandboxSchema } from "../api/sandbox.ts";
import { type SandboxClaim, sandboxClaimSchema } from "../api/sandboxclaim.ts";
import { type SandboxTemplate, sandboxTemplateSchema } from "../api/sandboxtemplate.ts";
import { type SandboxWarmPool, sandboxWarmPoolSchema } from "../api/sandboxwarmpool.ts";
import type { Log } from "../lib/log.ts";
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

export interface WatchesOptions {
  log: Log;
  signal: AbortSignal;
  /** Called once, when every object of every kind has been seen. */
  onListed(): void;
}

type Schema<T> = { safeParse(object: unknown): { data?: T | undefined } };

/** Watches every kind for its sinks until `signal` fires. */
export async function followAll(api: Api, sinks: Sinks, { log, signal, onListed }: WatchesOptions): Promise<void> {
  const unlisted = new Set<ObjectPath["resource"]>();
  const watch = <T extends { metadata: ObjectMeta }>(resource: keyof Sinks, schema: Schema<T>, list: Sink<T>[]) => {
    unlisted.add(resource);
    const onKindListed = () => {
      if (unlisted.delete(resource) && unlisted.size === 0) onListed();
    };
    const parse = (object: unknown) => schema.safeParse(object).data;
    return follow(api, { path: pathOf({ resource }), parse }, fanOut(list, onKindListed), { log, signal });
  };
  await Promise.all([
    watch("sandboxtemplates", sandboxTemplateSchema, sinks.sandboxtemplates),
    watch("sandboxwarmpools", sandboxWarmPoolSchema, sinks.sandboxwarmpools),
    watch("sandboxclaims", sandboxClaimSchema, sinks.sandboxclaims),
    watch("sandboxes", sandboxSchema, sinks.sandboxes),
  ]);
}

function fanOut<T>(sinks: readonly Sink<T>[], onListed: () => void): Sink<T> {
  return {
    observe: (object) => sinks.forEach((sink) => sink.observe(object)),
    gone: (uid) => sinks.forEach((sink) => sink.gone(uid)),
    listed(uids) {
      sinks.forEach((sink) => sink.listed(uids));
      onListed();
    },
  };
}
