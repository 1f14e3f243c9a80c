/** When a claim expires: one rule for its hook, which says so, and for the keeper, which deletes it. Pure. @module */
import type { SandboxClaim } from "../sandboxclaim.ts";
import { findCondition } from "../objects/conditions.ts";

/**
 * Returns when a claim expires, in milliseconds since the epoch; undefined: never, as far as is known.
 *
 * It is the earlier of `shutdownTime` and `ttlSecondsAfterFinished` after the claim's own Finished condition turned True.
 * A time that cannot be read never comes. Source: Agent Sandbox API, section 3.5.6.
 */
export function expiryTime({ spec: { lifecycle }, status }: SandboxClaim): number | undefined {
  const finished = findCondition(status?.conditions, "Finished");
  const ttl = lifecycle?.ttlSecondsAfterFinished;
  const times = [
    Date.parse(lifecycle?.shutdownTime ?? ""),
    ttl !== undefined && finished?.status === "True" ? Date.parse(finished.lastTransitionTime) + ttl * 1000 : NaN,
  ].filter((time) => !Number.isNaN(time));
  return times.length > 0 ? Math.min(...times) : undefined;
}
