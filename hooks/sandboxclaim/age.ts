/** How old a claim is, and how long it may be silent. @module */
import type { SandboxClaim } from "../../api/sandboxclaim.ts";

/** A claim that is served within this time, in milliseconds, costs no status of its own for the time before. */
export const QUIET_MS = 1000;

/** Returns the age in milliseconds, up to a second too old: creation times are whole seconds. Infinity if unknown. */
export function ageMs({ metadata }: SandboxClaim, now: Date): number {
  const created = Date.parse(metadata.creationTimestamp ?? "");
  return Number.isNaN(created) ? Infinity : now.getTime() - created;
}
