/** Builders of SandboxTemplates and of requests about them. @module */
import { type SandboxTemplate, sandboxTemplateSchema } from "../packages/api/sandboxtemplate.ts";
import type { KubeObject } from "../packages/api/objects/objects.ts";

/** Makes a template named `python` in `team-a`. */
export function aTemplate(over: { spec?: object; metadata?: object } = {}): SandboxTemplate {
  return sandboxTemplateSchema.parse({
    apiVersion: "extensions.agents.x-k8s.io/v1beta1",
    kind: "SandboxTemplate",
    metadata: { name: "python", namespace: "team-a", uid: "uid-python", generation: 1, ...over.metadata },
    spec: { podTemplate: { spec: { containers: [{ name: "main", image: "python" }] } }, ...over.spec },
  });
}

/** Makes the NetworkPolicy of {@link aTemplate}, as the hook has Metacontroller make it. */
export function aPolicy(over: { spec?: object; metadata?: object } = {}): KubeObject {
  const owner = { apiVersion: "extensions.agents.x-k8s.io/v1beta1", kind: "SandboxTemplate", name: "python" };
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    metadata: {
      name: "python-network-policy",
      namespace: "team-a",
      uid: "uid-policy",
      annotations: {
        "metacontroller.k8s.io/decorator-controller": "sandboxtemplate",
        "agents.x-k8s.io/template-generation": "uid-python/1",
      },
      ownerReferences: [
        { ...owner, uid: "uid-python", controller: true, blockOwnerDeletion: true },
        { apiVersion: "v1", kind: "Namespace", name: "team-a", uid: "uid-team-a" },
      ],
      ...over.metadata,
    },
    spec: {
      podSelector: { matchLabels: { "agents.x-k8s.io/sandbox-template-ref-hash": "0fceff97" } },
      policyTypes: ["Ingress", "Egress"],
      ...over.spec,
    },
  };
}

/** Makes a request of the SandboxTemplate hook as Metacontroller sends it. */
export function aTemplateRequest(object: SandboxTemplate, policies: KubeObject[] = [], related: object = {}) {
  const named = policies.map((policy) => [`${policy.metadata.namespace}/${policy.metadata.name}`, policy]);
  const attachments = { "NetworkPolicy.networking.k8s.io/v1": Object.fromEntries(named) };
  return { controller: {}, object, attachments, related, finalizing: false };
}
