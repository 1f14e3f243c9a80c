/** Reduces an object to what hooks have decided: without times, addresses, UIDs and generated names. Pure. @module */
import type { Condition } from "../../api/objects/conditions.ts";
import { controllerOf, groupOf, type KubeObject } from "../../api/objects/objects.ts";

/** An object at rest, in a form that is the same on every cluster. Absent fields: the object does not have them. */
export interface Digest {
  /** `<status> <reason>` by type. */
  conditions?: Record<string, string>;
  /** Kind of the controlling owner. */
  owner?: string;
  operatingMode?: string;
  isBeingDeleted?: true;
  /** Whole numbers of the status, such as readyReplicas. */
  counts?: Record<string, number>;
  /** Whether the status of a claim has a Sandbox, and whether the Sandbox has an address. */
  sandbox?: "given" | "given, with address";
  /** Names that users depend on. */
  service?: string;
  hasAddress?: boolean;
  phase?: string;
}

interface Status {
  conditions?: Condition[];
  sandbox?: { name?: string; podIPs?: string[] };
  service?: string;
  podIPs?: string[] | { ip: string }[];
  phase?: string;
}

/** Returns the digest of an object. */
export function digestOf(object: KubeObject): Digest {
  const status = (object["status"] ?? {}) as Status;
  const { operatingMode } = (object["spec"] ?? {}) as { operatingMode?: string };
  const owner = controllerOf(object.metadata)?.kind;
  const { phase, service, sandbox } = status;
  return {
    ...(owner && { owner }),
    ...(operatingMode && { operatingMode }),
    ...(object.metadata.deletionTimestamp && { isBeingDeleted: true as const }),
    ...conditionsIn(object),
    ...(isOurs(object.apiVersion) && countsIn(status)),
    ...(sandbox?.name && { sandbox: sandbox.podIPs?.length ? "given, with address" as const : "given" as const }),
    ...(service && { service }),
    ...(phase && { phase }),
    ...(status.podIPs && { hasAddress: status.podIPs.length > 0 }),
  };
}

/**
 * Returns `<status> <reason>` for each condition by type; none for objects that are not of hookbox's kinds, whose
 * conditions others set.
 */
export function conditionWords({ apiVersion, status }: KubeObject): Record<string, string> {
  const { conditions = [] } = isOurs(apiVersion) ? (status ?? {}) as Status : {};
  return Object.fromEntries(conditions.map(({ type, status, reason }) => [type, `${status} ${reason}`]).sort());
}

function conditionsIn(object: KubeObject): Pick<Digest, "conditions"> {
  const conditions = conditionWords(object);
  return Object.keys(conditions).length > 0 ? { conditions } : {};
}

function isOurs(apiVersion: string): boolean {
  return groupOf(apiVersion).endsWith("agents.x-k8s.io");
}

/** Numbers that depend on how often, or when, something was written. */
const NO_COUNTS = ["observedGeneration", "sequence", "observedSequence"];

function countsIn(status: object): Pick<Digest, "counts"> {
  const counts = Object.entries(status).filter(([key, value]) => typeof value === "number" && !NO_COUNTS.includes(key));
  return counts.length > 0 ? { counts: Object.fromEntries(counts.sort()) as Record<string, number> } : {};
}
