/** Claims, pools and templates for the keeper's tests: one valid default of each, and where it is stored. @module */
import { type SandboxClaim, sandboxClaimSchema } from "../../packages/api/sandboxclaim.ts";
import type { Sandbox } from "../../packages/api/sandbox.ts";
import { type SandboxWarmPool, sandboxWarmPoolSchema } from "../../packages/api/sandboxwarmpool.ts";

import { aSandbox } from "../sandboxes.ts";

const EXTENSIONS = "/apis/extensions.agents.x-k8s.io/v1beta1/namespaces/team-a";
export const CLAIM = `${EXTENSIONS}/sandboxclaims/job`;
export const POOL = `${EXTENSIONS}/sandboxwarmpools/pool`;
export const TEMPLATE = `${EXTENSIONS}/sandboxtemplates/python`;

interface Over {
  metadata?: object;
  spec?: object;
  status?: object;
}

/** Annotations of a claim that the binder has taken note of, and others. */
export function noted(annotations: object = {}): { annotations: object } {
  return {
    annotations: { "agents.x-k8s.io/controller-first-observed-at": "2026-11-21T12:00:00.000Z", ...annotations },
  };
}

/** Makes a claim named `job` on the pool `pool`. */
export function aClaim({ metadata, spec, status }: Over = {}): SandboxClaim {
  return sandboxClaimSchema.parse({
    apiVersion: "extensions.agents.x-k8s.io/v1beta1",
    kind: "SandboxClaim",
    metadata: { name: "job", namespace: "team-a", uid: "uid-job", generation: 1, ...metadata },
    spec: { warmPoolRef: { name: "pool" }, ...spec },
    ...(status ? { status } : {}),
  });
}

export const CLAIMS_SANDBOX = "/apis/agents.x-k8s.io/v1beta1/namespaces/team-a/sandboxes/s";

/** Makes the Sandbox `s` of the claim `job`; Ready as given, by default not said yet. */
export function aClaimsSandbox(ready?: "True" | "False", over: Over = {}): Sandbox {
  const owner = { apiVersion: "extensions.agents.x-k8s.io/v1beta1", kind: "SandboxClaim", name: "job", uid: "uid-job" };
  const reason = ready === "True" ? "DependenciesReady" : "DependenciesNotReady";
  return aSandbox({
    metadata: {
      ...{ name: "s", uid: "uid-s", ownerReferences: [{ ...owner, controller: true }] },
      annotations: { "metacontroller.k8s.io/decorator-controller": "sandboxclaim" },
      ...over.metadata,
    },
    status: {
      observedGeneration: 1,
      ...(ready ? { conditions: [aCondition("Ready", ready, reason)], podIPs: ["10.1.0.7"] } : {}),
      ...over.status,
    },
  });
}

/** Makes a pool named `pool` of the template `python`, which its hook has answered. */
export function aPool({ metadata, spec, status = { observedGeneration: 1 } }: Over = {}): SandboxWarmPool {
  return sandboxWarmPoolSchema.parse({
    apiVersion: "extensions.agents.x-k8s.io/v1beta1",
    kind: "SandboxWarmPool",
    metadata: { name: "pool", namespace: "team-a", uid: "uid-pool", generation: 1, ...metadata },
    spec: { replicas: 1, sandboxTemplateRef: { name: "python" }, ...spec },
    status,
  });
}

/** Makes a condition. */
export function aCondition(type: string, status: string, reason: string, over: object = {}) {
  return { type, status, reason, message: "", lastTransitionTime: "2026-11-21T11:59:00Z", ...over };
}
