/** Objects that the APIs accept and refuse: one list for the parsers, the CRDs and a real API server. @module */
import type { KubeObject } from "../../lib/objects.ts";

export interface Sample {
  name: string;
  object: KubeObject;
}

export interface RefusedSample extends Sample {
  /** The field that must be named, as the API server writes it. */
  field: string;
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

const condition = (change: Record<string, unknown> = {}) => ({
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

const POOL = { sandboxTemplateRef: { name: "python" } };
const CLAIM = { warmPoolRef: { name: "pool" } };

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

/** Specs that both the parsers and the API server refuse. */
export const refusedSpecs: RefusedSample[] = [
  {
    name: "unknown operating mode",
    field: "spec.operatingMode",
    object: sandbox({ ...BLUEPRINT, operatingMode: "Paused" }),
  },
  {
    name: "claim's policy on a Sandbox",
    field: "spec.shutdownPolicy",
    object: sandbox({ ...BLUEPRINT, shutdownPolicy: "DeleteForeground" }),
  },
  { name: "no Pod template", field: "spec.podTemplate", object: sandbox({}) },
  { name: "no Pod spec", field: "spec.podTemplate.spec", object: sandbox({ podTemplate: {} }) },
  { name: "no containers", field: "spec.podTemplate.spec.containers", object: sandbox({ podTemplate: { spec: {} } }) },
  {
    name: "container without a name",
    field: "spec.podTemplate.spec.containers[0].name",
    object: sandbox({ podTemplate: { spec: { containers: [{ image: "busybox" }] } } }),
  },
  { name: "service that is not a boolean", field: "spec.service", object: sandbox({ ...BLUEPRINT, service: "true" }) },
  {
    name: "time that is not a string",
    field: "spec.shutdownTime",
    object: sandbox({ ...BLUEPRINT, shutdownTime: 12 }),
  },
  {
    name: "label that is not a string",
    field: "spec.podTemplate.metadata.labels",
    object: sandbox({ podTemplate: { ...BLUEPRINT.podTemplate, metadata: { labels: { a: true } } } }),
  },
  {
    name: "volume without a spec",
    field: "spec.volumeClaimTemplates[0].spec",
    object: sandbox({ ...BLUEPRINT, volumeClaimTemplates: [{}] }),
  },
  { name: "template without a Pod", field: "spec.podTemplate", object: template({}) },
  {
    name: "unknown policy for volumes",
    field: "spec.volumeClaimTemplatesPolicy",
    object: template({ ...BLUEPRINT, volumeClaimTemplatesPolicy: "Never" }),
  },
  {
    name: "unknown policy for variables",
    field: "spec.envVarsInjectionPolicy",
    object: template({ ...BLUEPRINT, envVarsInjectionPolicy: "" }),
  },
  {
    name: "unknown management",
    field: "spec.networkPolicyManagement",
    object: template({ ...BLUEPRINT, networkPolicyManagement: "Off" }),
  },
  { name: "pool without a template", field: "spec.sandboxTemplateRef", object: pool({}) },
  {
    name: "template reference without a name",
    field: "spec.sandboxTemplateRef.name",
    object: pool({ sandboxTemplateRef: {} }),
  },
  { name: "fewer replicas than none", field: "spec.replicas", object: pool({ ...POOL, replicas: -1 }) },
  { name: "half a replica", field: "spec.replicas", object: pool({ ...POOL, replicas: 1.5 }) },
  { name: "more replicas than fit", field: "spec.replicas", object: pool({ ...POOL, replicas: 2 ** 31 }) },
  {
    name: "unknown strategy",
    field: "spec.updateStrategy.type",
    object: pool({ ...POOL, updateStrategy: { type: "RollingUpdate" } }),
  },
  { name: "claim without a pool", field: "spec.warmPoolRef", object: claim({}) },
  { name: "pool reference without a name", field: "spec.warmPoolRef.name", object: claim({ warmPoolRef: {} }) },
  { name: "variable without a value", field: "spec.env[0].value", object: claim({ ...CLAIM, env: [{ name: "A" }] }) },
  {
    name: "negative time to live",
    field: "spec.lifecycle.ttlSecondsAfterFinished",
    object: claim({ ...CLAIM, lifecycle: { ttlSecondsAfterFinished: -1 } }),
  },
  {
    name: "unknown claim policy",
    field: "spec.lifecycle.shutdownPolicy",
    object: claim({ ...CLAIM, lifecycle: { shutdownPolicy: "Orphan" } }),
  },
];

const conditions = (change: Record<string, unknown>) => sandbox(BLUEPRINT, { conditions: [condition(change)] });

/** Statuses that both refuse; the API server only looks at them when the status is written. */
export const refusedStatuses: RefusedSample[] = [
  {
    name: "condition type with a space",
    field: "status.conditions[0].type",
    object: conditions({ type: "Not Ready" }),
  },
  {
    name: "condition type too long",
    field: "status.conditions[0].type",
    object: conditions({ type: "R".repeat(317) }),
  },
  { name: "unknown condition status", field: "status.conditions[0].status", object: conditions({ status: "true" }) },
  { name: "condition without a reason", field: "status.conditions[0].reason", object: conditions({ reason: "" }) },
  {
    name: "reason of several words",
    field: "status.conditions[0].reason",
    object: conditions({ reason: "not ready" }),
  },
  {
    name: "generation below 0",
    field: "status.conditions[0].observedGeneration",
    object: conditions({ observedGeneration: -1 }),
  },
  { name: "address that is not a string", field: "status.podIPs[0]", object: sandbox(BLUEPRINT, { podIPs: [1] }) },
  { name: "ready replicas below 0", field: "status.readyReplicas", object: pool(POOL, { readyReplicas: -1 }) },
];
