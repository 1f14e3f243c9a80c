/** What objects of a run say of themselves and of each other. Pure. @module */
import { type Condition, findCondition } from "../../packages/api/objects/conditions.ts";
import { controllerOf, type KubeObject } from "../../packages/api/objects/objects.ts";

/** Metacontroller or a binder may act for so long on what it saw before, in milliseconds. */
export const LATE_MS = 5000;

/** The part of a claim's or a Sandbox's status that is judged. */
export interface Shown {
  conditions?: Condition[];
  sandbox?: { name?: string; podIPs?: string[] };
}

/** Returns the UID of the claim that has a Sandbox; undefined: none has. */
export function claimOf({ metadata }: KubeObject): string | undefined {
  const owner = controllerOf(metadata);
  return owner?.kind === "SandboxClaim" ? owner.uid : undefined;
}

export function statusOf(object: KubeObject | undefined): Shown {
  return (object?.["status"] ?? {}) as Shown;
}

export function readyOf(object: KubeObject | undefined): Condition | undefined {
  return findCondition(statusOf(object).conditions, "Ready");
}

/** Whether a Sandbox is to be suspended. */
export function isSuspended({ spec }: KubeObject): boolean {
  return (spec as { operatingMode?: string }).operatingMode === "Suspended";
}
