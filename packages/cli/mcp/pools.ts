/** Which pools there are, for agents that name none. Reads only. @module */
import { type Api, pathOf } from "../../kube/api.ts";
import type { KubeObject } from "../../api/objects/objects.ts";
import { ask } from "../../sdk/control/kube.ts";

/** Lists the names of a namespace's pools, those that are on their way out left out. */
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
