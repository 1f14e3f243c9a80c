/** Lists the pools that an agent can use if it does not name one. @module */
import { type Api, pathOf } from "../../kube/api.ts";
import type { KubeObject } from "../../api/objects/objects.ts";
import { ask } from "../../sdk/control/kube.ts";

/** Returns the names of the pools in a namespace, without those that are being deleted. */
export async function listPools(api: Api, namespace: string, signal: AbortSignal): Promise<string[]> {
  const { items } = await ask<{ items: KubeObject[] }>(api, {
    method: "GET",
    path: pathOf({ resource: "sandboxwarmpools", namespace }),
    action: "list pools",
    object: { kind: "SandboxWarmPool", namespace, name: "" },
    signal,
  });
  return items.filter(({ metadata }) => !metadata.deletionTimestamp).map(({ metadata }) => metadata.name);
}
