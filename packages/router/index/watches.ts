/** Fills the index from two watches: one of Sandboxes and one of their Pods. @module */
import { type Api, pathOf } from "../../kube/api.ts";
import { type EventHandler, listAndWatch } from "../../kube/watch.ts";
import { NAME_HASH_LABEL } from "../../api/objects/keys.ts";
import type { Log } from "../../process/log.ts";
import { readPod, readSandbox } from "./records.ts";
import type { SandboxIndex } from "./sandboxindex.ts";

export interface WatchesOptions {
  log: Log;
  signal: AbortSignal;
  /** undefined: all namespaces. */
  namespace: string | undefined;
  allowLoopbackPodIp: boolean;
  /** Called once, when both lists are complete. */
  onListed(): void;
  /** Called whenever the API server sends something on one of the watches. */
  onHeard?(watch: "sandboxes" | "pods"): void;
}

/** Watches Sandboxes and Pods until `signal` fires. */
export async function followSandboxes(api: Api, index: SandboxIndex, options: WatchesOptions): Promise<void> {
  const { log, signal, namespace, allowLoopbackPodIp, onListed, onHeard } = options;
  const pending = new Set(["sandboxes", "pods"]);
  const counted = <T>(resource: string, handler: EventHandler<T>): EventHandler<T> => ({
    ...handler,
    listed(uids, version) {
      handler.listed?.(uids, version);
      if (pending.delete(resource) && pending.size === 0) onListed();
    },
  });
  const sandboxes = { path: pathOf({ resource: "sandboxes", namespace }), parse: readSandbox };
  const pods = {
    path: pathOf({ resource: "pods", namespace }),
    // Selects the Pods of sandboxes: a cluster has many more Pods.
    query: { labelSelector: NAME_HASH_LABEL },
    parse: (object: unknown) => readPod(object, allowLoopbackPodIp),
  };
  await Promise.all([
    listAndWatch(api, sandboxes, counted("sandboxes", index.sandboxes), {
      log,
      signal,
      onHeard: () => onHeard?.("sandboxes"),
    }),
    listAndWatch(api, pods, counted("pods", index.pods), { log, signal, onHeard: () => onHeard?.("pods") }),
  ]);
}
