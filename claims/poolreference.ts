/** Why a claim has no pool or no template to be served from: the contract's words. Pure. @module */
import type { ClaimProblem } from "../api/claimproblem.ts";

/** The claim's pool does not exist. */
export function poolNotFound(pool: string): ClaimProblem {
  return { reason: "WarmPoolNotFound", message: `SandboxWarmPool "${pool}" not found` };
}

/** The template of the claim's pool does not exist. */
export function templateNotFound(template: string): ClaimProblem {
  return { reason: "TemplateNotFound", message: `SandboxTemplate "${template}" not found` };
}
