/** Why a claim is not served that asks for nothing wrong: what is missing, refused or down, in the contract's words. Pure. @module */
import type { ClaimProblem } from "../claimproblem.ts";

/** The claim's pool does not exist. */
export function poolNotFound(pool: string): ClaimProblem {
  return { reason: "WarmPoolNotFound", message: `SandboxWarmPool "${pool}" not found` };
}

/** The template of the claim's pool does not exist. */
export function templateNotFound(template: string): ClaimProblem {
  return { reason: "TemplateNotFound", message: `SandboxTemplate "${template}" not found` };
}

/** The API server refuses the Sandbox that is made for the claim. @param words its own */
export function creationRefused(words: string): ClaimProblem {
  return { reason: "ReconcilerError", message: `${REFUSED}${words}` };
}

const REFUSED = "Error seen: create sandbox: ";

/** Tells whether a problem is {@link creationRefused}: the binder's word, which the keeper leaves alone. */
export function isCreationRefused(problem: ClaimProblem | undefined): boolean {
  return problem?.message.startsWith(REFUSED) === true;
}

/** How long a claim waits before it is said who should have come, in milliseconds from its creation. */
export const LATE_MS = 10_000;

/** Name of the Lease that the binder holds as long as it serves claims. */
export const BINDER_LEASE = "hookbox-binder";

/** Nobody has given the claim a Sandbox for {@link LATE_MS}, and nothing is known that is in the way. */
export const NOT_SERVED: ClaimProblem = {
  reason: "SandboxMissing",
  message:
    `Sandbox does not exist: nobody has given the claim one for 10 s, the binder may be down (Lease ${BINDER_LEASE})`,
};
