/** Many objects at once: kubectl sends a few requests per second, this sends sixteen at a time. @module */
import { CustomObjectsApi, KubeConfig, PatchStrategy, setHeaderOptions } from "@kubernetes/client-node";
import type { Loose, Namespace } from "./namespace.ts";

const CLIENTS = 16;
const SANDBOXES = { group: "agents.x-k8s.io", version: "v1beta1", plural: "sandboxes" };

/** Creates objects of our kinds. @throws the first refusal */
export async function createAll(ns: Namespace, objects: Loose[]): Promise<void> {
  const api = client(ns);
  await each(objects, (body) => {
    const [group, version] = body.apiVersion.split("/");
    const plural = body.kind === "Sandbox" ? "sandboxes" : `${body.kind.toLowerCase()}s`;
    return api.createNamespacedCustomObject({ group, version, plural, namespace: ns.name, body });
  });
}

/** Applies one merge patch to each of the named Sandboxes. @throws the first refusal */
export async function patchAll(ns: Namespace, names: string[], body: object): Promise<void> {
  const api = client(ns);
  const merge = setHeaderOptions("Content-Type", PatchStrategy.MergePatch);
  await each(names, (name) => api.patchNamespacedCustomObject({ ...SANDBOXES, namespace: ns.name, name, body }, merge));
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
