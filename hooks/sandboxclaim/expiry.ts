/** How far the expiry of a claim has gone. Two steps: the status says so first, then things are deleted. @module */
import type { SandboxClaim } from "../../packages/api/sandboxclaim.ts";
import { expiryTime, isPublished } from "../../packages/api/expiry.ts";

/**
 * How far expiry has gone.
 *
 * | phase | meaning | answer |
 * |---|---|---|
 * | `none` | it lies ahead, or never comes | as ever |
 * | `due` | it is past, the status does not say so yet | the Sandbox stays, Ready becomes ClaimExpired |
 * | `published` | it is past and the observed status says so, of this spec | Retain: the Sandbox goes; else the keeper deletes the claim |
 */
export type ExpiryPhase = "none" | "due" | "published";

/** Tells how far the expiry of a claim has gone. The moment itself counts as past. */
export function expiryPhase(claim: SandboxClaim, now: Date): ExpiryPhase {
  const time = expiryTime(claim);
  if (time === undefined || time > now.getTime()) return "none";
  return isPublished(claim, "ClaimExpired") ? "published" : "due";
}
