/** A memory store that serves our kinds as the API server does: with their defaults, and Pods that take time to go. @module */
import { parseAllDocuments } from "yaml";
import type * as z from "zod";
import { sandboxSchema } from "../../api/sandbox.ts";
import { sandboxClaimSchema } from "../../api/sandboxclaim.ts";
import { sandboxTemplateSchema } from "../../api/sandboxtemplate.ts";
import { sandboxWarmPoolSchema } from "../../api/sandboxwarmpool.ts";
import { createMemoryStore, type MemoryStore } from "../../dev/metacontroller/store-memory.ts";
import { WARM_POOL_REF_LABEL } from "../../lib/keys.ts";
import type { KubeObject } from "../../lib/objects.ts";
import { renderManifests } from "../../tools/manifests/render.ts";

export const NAMESPACE = "ns";
export const SANDBOXES = "agents.x-k8s.io/v1beta1";
export const EXTENSIONS = "extensions.agents.x-k8s.io/v1beta1";
/** Holds a Pod that is asked to go until the kubelet has ended it. */
export const KUBELET_FINALIZER = "example.com/kubelet";

/** Where each of our kinds is served. */
export const API_OF: Readonly<Record<string, string>> = {
  Pod: "v1",
  Sandbox: SANDBOXES,
  SandboxClaim: EXTENSIONS,
  SandboxTemplate: EXTENSIONS,
  SandboxWarmPool: EXTENSIONS,
};

const SCHEMAS: Record<string, z.ZodType> = {
  Sandbox: sandboxSchema,
  SandboxClaim: sandboxClaimSchema,
  SandboxTemplate: sandboxTemplateSchema,
  SandboxWarmPool: sandboxWarmPoolSchema,
};
const installed = parseAllDocuments(renderManifests(undefined, false)).map((document) =>
  light(document.toJS() as KubeObject)
);

/** Makes a store with our CRDs and controllers in it. @param watchDelay see MemoryStoreOptions */
export async function createApi(watchDelay: (object: KubeObject) => number): Promise<MemoryStore> {
  const store = createMemoryStore({ watchDelay, admit });
  for (const object of installed) await store.put(object);
  return store;
}

/** Lists the objects of a kind. */
export function objectsOf(store: MemoryStore, kind: string): KubeObject[] {
  return store.objects(API_OF[kind] ?? "", kind);
}

/** Finds an object by kind and name. */
export function findObject(store: MemoryStore, kind: string, name: string): KubeObject | undefined {
  return objectsOf(store, kind).find(({ metadata }) => metadata.name === name);
}

/** Names the resource of one of our kinds as a store does. */
export async function removeObject(
  store: MemoryStore,
  { apiVersion, kind, metadata }: KubeObject,
  propagation: "Background" | "Foreground" = "Background",
): Promise<void> {
  await store.delete(await store.kind(apiVersion, kind), metadata.namespace, metadata.name, { propagation });
}

function admit(object: KubeObject, old: KubeObject | undefined): KubeObject {
  if (object.kind === "Pod" && !old) {
    return { ...object, metadata: { ...object.metadata, finalizers: [KUBELET_FINALIZER] } };
  }
  return labelled((SCHEMAS[object.kind]?.parse(object) ?? object) as KubeObject);
}

/** As the admission policy does, for every other claim: pools have to serve those without the label, too. */
function labelled(object: KubeObject): KubeObject {
  const { kind, metadata } = object;
  if (kind !== "SandboxClaim" || /[02468]$/.test(metadata.name)) return object;
  const { warmPoolRef } = object["spec"] as { warmPoolRef: { name: string } };
  return {
    ...object,
    metadata: { ...metadata, labels: { ...metadata.labels, [WARM_POOL_REF_LABEL]: warmPoolRef.name } },
  };
}

/** A CRD without its schemas, which the memory store does not read. */
function light(object: KubeObject): KubeObject {
  if (object.kind !== "CustomResourceDefinition") return object;
  const spec = object["spec"] as { versions: Record<string, unknown>[] };
  return { ...object, spec: { ...spec, versions: spec.versions.map(({ schema: _, ...version }) => version) } };
}
