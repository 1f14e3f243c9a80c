/** The kinds in scenarios. Data only. @module */
import type { ObjectPath } from "../../kube/api.ts";

/** Kinds that a scenario can name, and their resources; all their objects are recorded. */
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

/** A kind that a scenario can name. */
export type Kind = keyof typeof KINDS;

/** Tells whether a scenario can name a kind. */
export function isScenarioKind(kind: string): kind is Kind {
  return Object.hasOwn(KINDS, kind);
}
