/** Builds the objects that the load creates: the smallest that every implementation of v1beta1 accepts. @module */
import { RUNTIME_IMAGE } from "../../cluster/runtimeimage.ts";
import { SHARD_LABEL } from "../../../packages/api/objects/keys.ts";

const EXTENSIONS = "extensions.agents.x-k8s.io/v1beta1";
/** A container that only waits. On simulated nodes it does not run. */
const POD_TEMPLATE = {
  spec: {
    terminationGracePeriodSeconds: 0,
    automountServiceAccountToken: false,
    containers: [{ name: "main", image: "busybox:1.37", command: ["sleep", "86400"] }],
  },
};

/** Builds a Sandbox without a claim or pool. */
export function aSandbox(name: string) {
  return {
    apiVersion: "agents.x-k8s.io/v1beta1",
    kind: "Sandbox",
    metadata: { name },
    spec: { podTemplate: POD_TEMPLATE },
  };
}

export function aTemplate(name: string) {
  return { apiVersion: EXTENSIONS, kind: "SandboxTemplate", metadata: { name }, spec: { podTemplate: POD_TEMPLATE } };
}

/** Builds a template with hookbox's runtime. */
export function aRuntimeTemplate(name: string) {
  const container = {
    name: "main",
    image: RUNTIME_IMAGE,
    imagePullPolicy: "IfNotPresent",
    readinessProbe: { httpGet: { path: "/v1/health", port: 8080 }, periodSeconds: 1 },
  };
  const podTemplate = { spec: { ...POD_TEMPLATE.spec, containers: [container] } };
  return { apiVersion: EXTENSIONS, kind: "SandboxTemplate", metadata: { name }, spec: { podTemplate } };
}

/** Builds a pool. `shard` says which of several Metacontrollers is responsible for it. */
export function aPool(name: string, template: string, replicas: number, shard: string) {
  const spec = { replicas, sandboxTemplateRef: { name: template } };
  return {
    apiVersion: EXTENSIONS,
    kind: "SandboxWarmPool",
    metadata: { name, labels: { [SHARD_LABEL]: shard } },
    spec,
  };
}

export function aClaim(name: string, pool: string) {
  return { apiVersion: EXTENSIONS, kind: "SandboxClaim", metadata: { name }, spec: { warmPoolRef: { name: pool } } };
}
