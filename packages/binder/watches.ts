/** Watches all kinds for a binder that runs in its own process. In the keeper, the binder uses the keeper's watches. @module */
import { isObject } from "../api/objects/json.ts";
import type { ObjectMeta } from "../api/objects/objects.ts";
import type { Sandbox } from "../api/sandbox.ts";
import type { SandboxClaim } from "../api/sandboxclaim.ts";
import { sandboxTemplateSchema } from "../api/sandboxtemplate.ts";
import { sandboxWarmPoolSchema } from "../api/sandboxwarmpool.ts";
import { policyToKeep } from "../api/templatepolicy.ts";
import { type Api, type ObjectPath, pathOf } from "../kube/api.ts";
import { type EventHandler, isolated, listAndWatch } from "../kube/watch.ts";
import type { Log } from "../process/log.ts";
import { type Binding, fired } from "./binder.ts";

/**
 * Watches for a binder until `signal` fires, so that it can begin to serve at any time.
 *
 * The kinds are listed one after the other. Claims come before Sandboxes, so that at a start each Sandbox finds its
 * claim.
 */
export async function watchFor({ handlers, listed }: Binding, api: Api, log: Log, signal: AbortSignal): Promise<void> {
  const watching: Promise<void>[] = [];
  async function watch<T extends { metadata: ObjectMeta }>(
    resource: ObjectPath["resource"],
    parse: (object: unknown) => T | undefined,
    handler: EventHandler<T>,
  ): Promise<void> {
    const kindListed = Promise.withResolvers<void>();
    const safe = isolated(resource, handler, log);
    const onListed = (uids: ReadonlySet<string>, version?: string) => {
      safe.listed?.(uids, version);
      kindListed.resolve();
    };
    watching.push(
      listAndWatch(api, { path: pathOf({ resource }), parse }, { ...safe, listed: onListed }, { log, signal }),
    );
    await Promise.race([kindListed.promise, fired(signal)]);
  }
  await watch("networkpolicies", policyToKeep, handlers.networkpolicies);
  await watch("sandboxtemplates", (object) => sandboxTemplateSchema.safeParse(object).data, handlers.sandboxtemplates);
  await watch("sandboxwarmpools", (object) => sandboxWarmPoolSchema.safeParse(object).data, handlers.sandboxwarmpools);
  await watch("sandboxclaims", asObject<SandboxClaim>, handlers.sandboxclaims);
  await watch("sandboxes", asObject<Sandbox>, handlers.sandboxes);
  if (!signal.aborted) listed();
  await Promise.all(watching);
}

function asObject<T>(object: unknown): T | undefined {
  return isObject(object) && isObject(object["metadata"]) && isObject(object["spec"]) ? object as T : undefined;
}
