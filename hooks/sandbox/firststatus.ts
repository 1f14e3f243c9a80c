/** Whether the first status of a Sandbox can wait: most are Ready soon, and are written once instead of twice. @module */
import type { SandboxStatus } from "../../api/sandbox.ts";
import { findCondition } from "../../lib/conditions.ts";
import type { View } from "./view.ts";

/** Longest silence after the creation of the Pod, in milliseconds; creation times are whole seconds. */
const QUIET_MS = 2000;
/** Longest silence after the Sandbox's own: under load it takes a while until its Pod is made. */
const LONGEST_MS = 10_000;

/**
 * Tells whether the status may stay as the API server has preset it; else it is to be written now.
 *
 * When that changes nothing happens by itself: the next event brings the status, and where none comes the keeper wakes the
 * Sandbox (keeper/wake.ts). It may stay while it would say no more than that the Pod is on its way. Metacontroller adds `observedGeneration` to every
 * status, so that keeping quiet costs no write only where the CRD presets that field: elsewhere this is never so.
 */
export function isQuiet({ sandbox, pod }: View, status: SandboxStatus, now: Date): boolean {
  const { creationTimestamp, generation } = sandbox.metadata;
  const { observedGeneration, ...rest } = sandbox.status ?? {};
  const isPreset = observedGeneration === generation && generation !== undefined && Object.keys(rest).length === 0;
  return isPreset && isOnItsWay(status) && isYoung(creationTimestamp, LONGEST_MS, now) &&
    (!pod || isYoung(pod.metadata.creationTimestamp, QUIET_MS, now));
}

/** Tells whether something was made a moment ago: never where the clock is behind the API server's. */
export function isYoung(creationTimestamp = "", longestMs: number, now: Date): boolean {
  const age = now.getTime() - Date.parse(creationTimestamp);
  return age >= 0 && age < longestMs;
}

/** A Pod with an address can serve a claim that waits; everything but a Pod that is not Ready yet is news. */
function isOnItsWay({ conditions, podIPs }: SandboxStatus): boolean {
  const isFailing = findCondition(conditions, "ContainersFailing")?.status === "True";
  return findCondition(conditions, "Ready")?.reason === "DependenciesNotReady" && !isFailing && podIPs === undefined;
}
