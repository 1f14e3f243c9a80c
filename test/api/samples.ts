/** Objects that the APIs accept: one list for the parsers, the CRDs and a real API server. @module */
import type { KubeObject } from "../../packages/api/objects/objects.ts";

export interface Sample {
  name: string;
  object: KubeObject;
}

/** A spec that needs no more than this to be a Sandbox's or a SandboxTemplate's. */
export const BLUEPRINT = { podTemplate: { spec: { containers: [{ name: "main", image: "busybox" }] } } };

const CLAIM_TEMPLATES = [
  {
    metadata: { name: "data", labels: { tier: "disk" }, annotations: { note: "kept" } },
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
  },
];

const METADATA = { labels: { app: "demo" }, annotations: { note: "yes" } };
const BLUEPRINT_FULL = {
  podTemplate: { metadata: METADATA, ...BLUEPRINT.podTemplate },
  volumeClaimTemplates: CLAIM_TEMPLATES,
  service: true,
};

/** A condition that the APIs accept, but for `change`. */
export const condition = (change: Record<string, unknown> = {}) => ({
  type: "Ready",
  status: "True",
  reason: "DependenciesReady",
  message: "",
  lastTransitionTime: "2026-01-02T03:04:05Z",
  observedGeneration: 3,
  ...change,
});

export function sandbox(spec: object, status?: object): KubeObject {
  return {
    apiVersion: "agents.x-k8s.io/v1beta1",
    kind: "Sandbox",
    metadata: { name: "sample" },
    ...part(spec, status),
  };
}

export function template(spec: object): KubeObject {
  return extension("SandboxTemplate", spec);
}

export function pool(spec: object, status?: object): KubeObject {
  return extension("SandboxWarmPool", spec, status);
}

export function claim(spec: object, status?: object): KubeObject {
  return extension("SandboxClaim", spec, status);
}

function extension(kind: string, spec: object, status?: object): KubeObject {
  const apiVersion = "extensions.agents.x-k8s.io/v1beta1";
  return { apiVersion, kind, metadata: { name: "sample" }, ...part(spec, status) };
}

function part(spec: object, status?: object) {
  return { spec, ...(status ? { status } : {}) };
}

/** The least of a pool's and of a claim's spec. */
export const POOL = { sandboxTemplateRef: { name: "python" } };
export const CLAIM = { warmPoolRef: { name: "pool" } };

/** What users may write, from the least to everything, and what hooks may publish. */
export const accepted: Sample[] = [
  { name: "Sandbox with a Pod only", object: sandbox(BLUEPRINT) },
  {
    name: "Sandbox with every field",
    object: sandbox(
      { ...BLUEPRINT_FULL, operatingMode: "Suspended", shutdownTime: "2026-01-02T03:04:05Z", shutdownPolicy: "Delete" },
      {
        observedGeneration: 3,
        conditions: [condition(), condition({ type: "example.com/Custom", status: "Unknown", message: "é".repeat(9) })],
        service: "sample",
        serviceFQDN: "sample.default.svc.cluster.local",
        podIPs: ["10.0.0.1", "fd00::1"],
        nodeName: "node-1",
        selector: "agents.x-k8s.io/sandbox-name-hash=00000000",
      },
    ),
  },
  { name: "Sandbox whose volume has no name", object: sandbox({ ...BLUEPRINT, volumeClaimTemplates: [{ spec: {} }] }) },
  { name: "Sandbox without volumes, said so", object: sandbox({ ...BLUEPRINT, volumeClaimTemplates: [] }) },
  { name: "Sandbox that refuses a Service", object: sandbox({ ...BLUEPRINT, service: false }) },
  {
    name: "Sandbox with a time in another zone",
    object: sandbox({ ...BLUEPRINT, shutdownTime: "2026-01-02T03:04:05.678+02:00" }),
  },
  { name: "Sandbox of a Pod without containers", object: sandbox({ podTemplate: { spec: { containers: [] } } }) },
  { name: "SandboxTemplate with a Pod only", object: template(BLUEPRINT) },
  {
    name: "SandboxTemplate with every field",
    object: template({
      ...BLUEPRINT_FULL,
      networkPolicy: {
        ingress: [{
          from: [{ podSelector: {} }],
          ports: [{ protocol: "TCP", port: "http" }, { port: 80, endPort: 90 }],
        }],
        egress: [{ to: [{ ipBlock: { cidr: "0.0.0.0/0", except: ["10.0.0.0/8"] } }] }],
      },
      networkPolicyManagement: "Unmanaged",
      envVarsInjectionPolicy: "Overrides",
      volumeClaimTemplatesPolicy: "Allowed",
    }),
  },
  { name: "SandboxTemplate that denies all traffic", object: template({ ...BLUEPRINT, networkPolicy: {} }) },
  { name: "SandboxWarmPool of a template", object: pool(POOL) },
  {
    name: "SandboxWarmPool with a grace period, and a lifecycle for claims",
    object: pool({
      ...POOL,
      replicas: 1,
      readinessGracePeriodSeconds: 30,
      claimDefaults: { lifecycle: { shutdownPolicy: "Delete", ttlSecondsAfterFinished: 10 } },
    }),
  },
  {
    name: "SandboxWarmPool with every field",
    object: pool({ ...POOL, replicas: 0, updateStrategy: { type: "Recreate" } }, {
      observedGeneration: 1,
      replicas: 2,
      readyReplicas: 1,
      selector: "agents.x-k8s.io/warm-pool-sandbox=00000000",
      conditions: [condition()],
    }),
  },
  { name: "SandboxWarmPool with an empty strategy", object: pool({ ...POOL, updateStrategy: {} }) },
  { name: "SandboxClaim of a pool", object: claim(CLAIM) },
  { name: "SandboxClaim with an empty lifecycle", object: claim({ ...CLAIM, lifecycle: {} }) },
  {
    name: "SandboxClaim with every field",
    object: claim({
      ...CLAIM,
      lifecycle: {
        shutdownTime: "2026-01-02T03:04:05Z",
        ttlSecondsAfterFinished: 0,
        shutdownPolicy: "DeleteForeground",
      },
      additionalPodMetadata: METADATA,
      env: [{ name: "A", value: "" }, { name: "A", value: "twice", containerName: "main" }],
      volumeClaimTemplates: CLAIM_TEMPLATES,
    }, {
      conditions: [condition({ reason: "WarmPoolNotFound", status: "False" })],
      sandbox: { name: "s", podIPs: [] },
    }),
  },
];
