/** Reads objects of hookbox's kinds from the API server. @module */
import { type Api, type ApiRequest, pathOf } from "../../kube/api.ts";
import type { KubeObject } from "../../api/objects/objects.ts";
import { ask } from "../../sdk/control/kube.ts";
import type { Kind } from "../../summary/kinds.ts";

/** Which objects to list. */
export interface Selection {
  /** Undefined: all namespaces. */
  namespace: string | undefined;
  labelSelector?: string | undefined;
}

/** Reads one object. @throws {SandboxError} if it does not exist or cannot be read */
export async function getObject(api: Api, kind: Kind, namespace: string, name: string): Promise<KubeObject> {
  const path = pathOf({ resource: kind.resource, namespace, name });
  const action = `get ${kind.kind} ${namespace}/${name}`;
  return await ask(api, { method: "GET", path, action, object: { kind: kind.kind, namespace, name } });
}

/** Reads a list, sorted by namespace and name. @throws {SandboxError} if it cannot be read */
export async function listObjects(
  api: Api,
  kind: Kind,
  { namespace, labelSelector }: Selection,
): Promise<KubeObject[]> {
  const query: Record<string, string> = { limit: "500", ...labelSelector ? { labelSelector } : {} };
  const request: ApiRequest = { method: "GET", path: pathOf({ resource: kind.resource, namespace }), query };
  const object = { kind: kind.kind, namespace: namespace ?? "", name: "" };
  const objects: KubeObject[] = [];
  for (;;) {
    type List = { items: KubeObject[]; metadata?: { continue?: string }; apiVersion: string };
    const list = await ask<List>(api, { ...request, query: { ...query }, action: `list ${kind.resource}`, object });
    // The API server does not set the kind of items in a list.
    for (const item of list.items) objects.push({ ...item, apiVersion: list.apiVersion, kind: kind.kind });
    if (!list.metadata?.continue) return objects;
    query["continue"] = list.metadata.continue;
  }
}
