/** Objects that the APIs refuse: one list for the parsers, the CRDs and a real API server. @module */
import { BLUEPRINT, CLAIM, claim, condition, POOL, pool, type Sample, sandbox, template } from "./samples.ts";

export interface RefusedSample extends Sample {
  /** The field that must be named, as the API server writes it. */
  field: string;
}

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
  {
    name: "a grace period of less than half a minute",
    field: "spec.readinessGracePeriodSeconds",
    object: pool({ ...POOL, readinessGracePeriodSeconds: 29 }),
  },
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
