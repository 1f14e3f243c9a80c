/** How long a claim that is not served yet says nothing: most are served by then, and cost no status for the time before. @module */
import type { SandboxClaim } from "../../api/sandboxclaim.ts";
import type { ClaimMemory } from "./memory.ts";

/** From when the claim was first seen, in milliseconds. */
const QUIET_MS = 3000;
/** From its creation, whoever sees it when: creation times are whole seconds, so that this is three seconds at least. */
const LONGEST_MS = 4000;

/** Returns for how many more milliseconds the claim may be silent; none if 0 or less, or if its age is not known. */
export function quietLeft({ metadata }: SandboxClaim, { firstSeen }: ClaimMemory, now: Date): number {
  const created = Date.parse(metadata.creationTimestamp ?? "");
  if (Number.isNaN(created)) return 0;
  return Math.min(firstSeen + QUIET_MS, created + LONGEST_MS) - now.getTime();
}
