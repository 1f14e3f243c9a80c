/** The kinds that scenarios speak of. Data only. @module */
import type { ObjectPath } from "../../kube/api.ts";

/** Kinds that can be named in a scenario, and their resources: those whose objects are followed. */
export const KINDS = {
  Sandbox: "sandboxes",
  SandboxClaim: "sandboxclaims",
  SandboxWarmPool: "sandboxwarmpools",
  SandboxTemplate: "sandboxtemplates",
  Pod: "pods",
  Service: "services",
  PersistentVolumeClaim: "persistentvolumeclaims",
  NetworkPolicy: "networkpolicies",
} as const satisfies Record<string, ObjectPath["resource"]>;

/** A kind that scenarios know. */
export type Kind = keyof typeof KINDS;

/** Whether scenarios know a kind. */
export function isScenarioKind(kind: string): kind is Kind {
  return Object.hasOwn(KINDS, kind);
}
