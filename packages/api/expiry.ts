/** When a claim expires, and whether it says so: one rule for its hook, which says it, and for the keeper, which deletes. Pure. @module */
import type { SandboxClaim } from "./sandboxclaim.ts";
import { type Condition, findCondition } from "./objects/conditions.ts";
import type { ObjectMeta } from "./objects/objects.ts";

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

/** What may expire: as much of it as says so. */
export interface Expiring {
  metadata: ObjectMeta;
  status?: { conditions?: Condition[] | undefined } | undefined;
}

/** Tells whether the hook has published the expiry, and of this spec: who has changed that since may have put it off. */
export function isPublished({ metadata, status }: Expiring, reason: "ClaimExpired" | "SandboxExpired"): boolean {
  const ready = findCondition(status?.conditions, "Ready");
  if (ready?.status !== "False" || ready.reason !== reason) return false;
  return ready.observedGeneration === undefined || ready.observedGeneration === metadata.generation;
}
