/** When a claim expires, and how far that has gone. Two steps: the status says so first, then things are deleted. @module */
import type { SandboxClaim } from "../../api/sandboxclaim.ts";
import { findCondition } from "../../lib/conditions.ts";

/**
 * How far expiry has gone.
 *
 * | phase | meaning | answer |
 * |---|---|---|
 * | `none` | it lies ahead, or never comes | as ever |
 * | `due` | it is past, the status does not say so yet | the Sandbox stays, Ready becomes ClaimExpired |
 * | `published` | it is past and the observed status says so | Retain: the Sandbox goes; else the keeper deletes the claim |
 */
export type ExpiryPhase = "none" | "due" | "published";

/** Tells how far the expiry of a claim has gone. The moment itself counts as past. */
export function expiryPhase(claim: SandboxClaim, now: Date): ExpiryPhase {
  const time = expiryTime(claim);
  if (time === undefined || time > now.getTime()) return "none";
  const ready = findCondition(claim.status?.conditions, "Ready");
  return ready?.status === "False" && ready.reason === "ClaimExpired" ? "published" : "due";
}

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
