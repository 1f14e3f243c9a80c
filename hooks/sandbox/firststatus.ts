/** Whether the first status of a Sandbox can wait: most are Ready soon, and are written once instead of twice. @module */
import type { SandboxStatus } from "../../api/sandbox.ts";
import { findCondition } from "../../lib/conditions.ts";
import type { View } from "./view.ts";

/** Longest silence after the creation, in milliseconds; creation times are whole seconds. */
const QUIET_MS = 2000;

/**
 * Returns for how many more seconds the status may stay as the API server has preset it; undefined: write it now.
 *
 * It may while it would say no more than that the Pod is on its way. Metacontroller adds `observedGeneration` to every
 * status, so that keeping quiet costs no write only where the CRD presets that field: elsewhere this is never so.
 */
export function quietSeconds({ sandbox }: View, status: SandboxStatus, now: Date): number | undefined {
  const { creationTimestamp = "", generation } = sandbox.metadata;
  const { observedGeneration, ...rest } = sandbox.status ?? {};
  const isPreset = observedGeneration === generation && generation !== undefined && Object.keys(rest).length === 0;
  const age = now.getTime() - Date.parse(creationTimestamp);
  // A clock that is behind the API server's says nothing about youth.
  if (!isPreset || !(age >= 0 && age < QUIET_MS) || !isOnItsWay(status)) return undefined;
  return (QUIET_MS - age) / 1000;
}

/** A Pod with an address can serve a claim that waits; everything but a Pod that is not Ready yet is news. */
function isOnItsWay({ conditions, podIPs }: SandboxStatus): boolean {
  const isFailing = findCondition(conditions, "ContainersFailing")?.status === "True";
  return findCondition(conditions, "Ready")?.reason === "DependenciesNotReady" && !isFailing && podIPs === undefined;
}
