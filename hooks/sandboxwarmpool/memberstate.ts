/** How far a member is on its way to being handed over. @module */
import type { Sandbox } from "../../api/sandbox.ts";
import { findCondition } from "../../lib/conditions.ts";

/**
 * The state of a member.
 *
 * | state | meaning |
 * |---|---|
 * | `ready` | Ready, and has an address |
 * | `starting` | its Pod runs and has an address, but is not Ready yet |
 * | `coming` | nothing is wrong, but there is no address yet |
 * | `lost` | finished, suspended, expired or broken: no claim gets it |
 */
export type MemberState = "ready" | "starting" | "coming" | "lost";

/** Tells the state of a member by its status. */
export function memberState({ spec, status }: Sandbox): MemberState {
  const ready = findCondition(status?.conditions, "Ready");
  if (spec.operatingMode === "Suspended" || spec.shutdownTime !== undefined) return "lost";
  if (findCondition(status?.conditions, "Finished")?.status === "True") return "lost";
  const hasAddress = (status?.podIPs ?? []).length > 0;
  if (ready?.status === "True") return hasAddress ? "ready" : "coming";
  if (ready !== undefined && ready.reason !== "DependenciesNotReady") return "lost";
  return hasAddress ? "starting" : "coming";
}

/** Tells whether a member is Ready. */
export function isReady({ status }: Sandbox): boolean {
  return findCondition(status?.conditions, "Ready")?.status === "True";
}
