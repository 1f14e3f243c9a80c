/** Many Sandboxes at once: kubectl sends a few requests per second, this sends sixteen at a time. @module */
import { CustomObjectsApi, KubeConfig, PatchStrategy, setHeaderOptions } from "@kubernetes/client-node";
import type { Loose, Namespace } from "./namespace.ts";

const CLIENTS = 16;
const RESOURCE = { group: "agents.x-k8s.io", version: "v1beta1", plural: "sandboxes" };

/** Creates Sandboxes. @throws the first refusal */
export async function createAll(ns: Namespace, sandboxes: Loose[]): Promise<void> {
  const api = client(ns);
  await each(sandboxes, (body) => api.createNamespacedCustomObject({ ...RESOURCE, namespace: ns.name, body }));
}

/** Applies one merge patch to each of the named Sandboxes. @throws the first refusal */
export async function patchAll(ns: Namespace, names: string[], body: object): Promise<void> {
  const api = client(ns);
  const merge = setHeaderOptions("Content-Type", PatchStrategy.MergePatch);
  await each(names, (name) => api.patchNamespacedCustomObject({ ...RESOURCE, namespace: ns.name, name, body }, merge));
}

function client(ns: Namespace): CustomObjectsApi {
  const config = new KubeConfig();
  config.loadFromFile(ns.cluster.kubeconfig);
  return config.makeApiClient(CustomObjectsApi);
}

async function each<T>(items: T[], act: (item: T) => Promise<unknown>): Promise<void> {
  const left = items.values();
  const worker = async () => {
    for (const item of left) await act(item);
  };
  await Promise.all(Array.from({ length: CLIENTS }, worker));
}
