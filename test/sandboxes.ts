/** Builders for tests: one valid default of each object, and only what a case is about on top. @module */
import { type Sandbox, sandboxSchema } from "../packages/api/sandbox.ts";
import { LAST_APPLIED_ANNOTATION } from "../packages/api/objects/apply.ts";
import { kindKey, type ObjectMap, type Observed } from "../packages/webhook/metacontroller.ts";
import type { KubeObject } from "../packages/api/objects/objects.ts";

/** The clock of every pure test. */
export const NOW = new Date("2026-11-21T12:00:00Z");

/** Makes a Sandbox named `demo` in `team-a`; `spec`, `metadata` and `status` are laid over the default. */
export function aSandbox(over: { spec?: object; metadata?: object; status?: object } = {}): Sandbox {
  return sandboxSchema.parse({
    apiVersion: "agents.x-k8s.io/v1beta1",
    kind: "Sandbox",
    metadata: { name: "demo", namespace: "team-a", uid: "uid-demo", generation: 1, ...over.metadata },
    spec: {
      podTemplate: { spec: { containers: [{ name: "main", image: "busybox" }] } },
      operatingMode: "Running",
      shutdownPolicy: "Retain",
      ...over.spec,
    },
    ...(over.status ? { status: over.status } : {}),
  });
}

/** Makes a child as Metacontroller shows it; `lastApplied` becomes the annotation. */
export function aChild(kind: string, over: { lastApplied?: object; metadata?: object; [field: string]: unknown } = {}) {
  const { lastApplied, metadata, ...rest } = over;
  const annotations = lastApplied ? { [LAST_APPLIED_ANNOTATION]: JSON.stringify(lastApplied) } : {};
  const meta = { name: "demo", namespace: "team-a", uid: `uid-${kind}`, ...metadata } as KubeObject["metadata"];
  if (lastApplied) meta.annotations = { ...annotations, ...meta.annotations };
  return { apiVersion: "v1", kind, ...rest, metadata: meta } as KubeObject;
}

/** Makes a Pod that has run for a while: phase Running, Ready, one address. */
export function aReadyPod(over: { metadata?: object; status?: object; spec?: object; lastApplied?: object } = {}) {
  const { status, spec, ...rest } = over;
  return aChild("Pod", {
    ...rest,
    spec: { nodeName: "node-1", containers: [{ name: "main", image: "busybox" }], ...spec },
    status: {
      phase: "Running",
      podIPs: [{ ip: "10.1.0.7" }],
      conditions: [{ type: "PodScheduled", status: "True" }, { type: "Ready", status: "True" }],
      ...status,
    },
  });
}

/** Makes a request of the Sandbox hook with the three child rules, whatever children there are. */
export function aRequest(parent: Sandbox, children: KubeObject[] = []): Observed<Sandbox> {
  return { parent, children: mapOf(children), related: {}, finalizing: false };
}

/** Groups objects as Metacontroller's `version: v2` does. */
export function mapOf(children: KubeObject[]): ObjectMap {
  const map: ObjectMap = { "Pod.v1": {}, "Service.v1": {}, "PersistentVolumeClaim.v1": {} };
  for (const child of children) {
    (map[kindKey(child)] ??= {})[`${child.metadata.namespace}/${child.metadata.name}`] = child;
  }
  return map;
}
