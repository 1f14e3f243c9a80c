/** What a claim gets that waits: a member of its pool, a Sandbox of its own, or nothing yet. Pure. @module */
import type { Sandbox } from "../api/sandbox.ts";
import type { SandboxClaim } from "../api/sandboxclaim.ts";
import type { SandboxTemplate } from "../api/sandboxtemplate.ts";
import type { SandboxWarmPool } from "../api/sandboxwarmpool.ts";
import type { ClaimProblem } from "../api/claimproblem.ts";
import { metadataProblem } from "../api/claims/podmetadata.ts";
import { needsColdStart, requestProblem } from "../api/claims/request.ts";
import { nameTooLong, policyNotInForce, poolLeaving, poolNotFound, templateNotFound } from "../api/claims/unserved.ts";
import type { Offer } from "./offer.ts";

/**
 * What becomes of a claim now. `refused`: it cannot be served as things are, and comes back when claim, pool or template
 * has changed, or with `awaitsMember` when a member has; `problem` is what its status reports, undefined: nothing yet. `wait`:
 * look again after so many milliseconds, or when a member has changed.
 */
export type Choice =
  | { kind: "member"; pool: SandboxWarmPool; sandbox: Sandbox; template: SandboxTemplate | undefined }
  | { kind: "cold"; pool: SandboxWarmPool; template: SandboxTemplate }
  | { kind: "wait"; ms: number }
  | { kind: "refused"; problem?: ClaimProblem; awaitsMember?: boolean };

/** After so many members that the API server would not hand over to it a claim gets a Sandbox of its own, or hears why not. */
export const MOST_REFUSED = 2;

/** How long a claim waits for a member that has no address yet before it gets a Sandbox of its own. */
export const PATIENCE_MS = 2000;

/**
 * Decides for a claim that wants a Sandbox. Source: Agent Sandbox API, section 3.5.3.
 *
 * | what holds, the first that does | choice |
 * |---|---|
 * | the pool is missing or being deleted | refused |
 * | it asks for what the template does not allow | refused |
 * | the template's NetworkPolicy is required, and not in force | refused |
 * | it needs a Sandbox of its own, and its name is too long for one | refused |
 * | with env or volumes | cold |
 * | two members were refused to it | cold |
 * | a member is Ready, or runs, the pool's status was seen to count its number, and it was not refused | that member |
 * | it is younger than two seconds, and a member is coming that nobody before it waits for | wait |
 * | else | cold |
 *
 * Without a template there is no cold start: refused.
 *
 * @param offer with `refused`, the UIDs of members that the API server would not hand over to this claim
 */
export function choose(
  claim: SandboxClaim,
  offer: Offer & { refused?: readonly string[] },
  domains: readonly string[],
  now: number,
  allowedAnnotationDomains?: readonly string[],
): Choice {
  const { pool, template, refused = [] } = offer;
  if (!pool) return { kind: "refused", problem: poolNotFound(claim.spec.warmPoolRef.name) };
  if (pool.metadata.deletionTimestamp !== undefined) {
    return { kind: "refused", problem: poolLeaving(pool.metadata.name) };
  }
  const problem = template
    ? requestProblem(claim, template, domains, allowedAnnotationDomains)
    : metadataProblem(claim.spec.additionalPodMetadata, domains, allowedAnnotationDomains);
  if (problem) return { kind: "refused", problem };
  if (template && offer.policyProblem !== undefined) {
    return { kind: "refused", problem: policyNotInForce(template.metadata.name, offer.policyProblem) };
  }
  if (!needsColdStart(claim) && refused.length < MOST_REFUSED) {
    const { first, second, isUncounted, coming } = offer.find();
    const sandbox = refused.includes(first?.metadata.uid ?? "") ? second() : first;
    if (sandbox) return { kind: "member", pool, sandbox, template };
    // Clocks differ: a claim from the far future would never lose its patience.
    const age = Math.abs(now - Date.parse(claim.metadata.creationTimestamp ?? ""));
    const isComing = coming > offer.waiting || isUncounted;
    if (age < PATIENCE_MS && isComing) return { kind: "wait", ms: PATIENCE_MS - age };
  }
  if (!template) {
    const missing = templateNotFound(pool.spec.sandboxTemplateRef.name);
    return { kind: "refused", problem: missing, awaitsMember: !needsColdStart(claim) };
  }
  const long = nameTooLong(claim.metadata.name, template);
  if (long) return { kind: "refused", problem: long, awaitsMember: !needsColdStart(claim) };
  return { kind: "cold", pool, template };
}
