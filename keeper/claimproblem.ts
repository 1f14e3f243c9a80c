/** What keeps a claim from being served that no hook can see, and what to say of it. Pure. @module */
import { type ClaimProblem, readClaimProblem, wordText } from "../api/claimproblem.ts";
import type { SandboxClaim } from "../api/sandboxclaim.ts";
import type { SandboxTemplate } from "../api/sandboxtemplate.ts";
import { isCreationRefused, LATE_MS, NOT_SERVED, poolNotFound, templateNotFound } from "../claims/unserved.ts";
import { requestProblem } from "../claims/request.ts";
import { sameJson } from "../lib/apply.ts";
import { findCondition } from "../lib/conditions.ts";
import { UNRESOLVED_ANNOTATION } from "../lib/keys.ts";
import type { Situation } from "./look.ts";

/** What a claim refers to: its pool, and the template of that; undefined: does not exist. */
export interface Surroundings {
  pool: { template: string } | undefined;
  template: SandboxTemplate | undefined;
}

/** Tells whether a claim still waits for a Sandbox. */
export function isUnbound({ metadata, status }: SandboxClaim): boolean {
  return !status?.sandbox?.name && metadata.deletionTimestamp === undefined;
}

/**
 * Tells what keeps an unbound claim from being served; undefined: nothing that a hook would not see.
 *
 * Bad metadata is the claim hook's own to say, which needs no template for it.
 *
 * @param domains of label keys that claims may use
 */
export function claimProblem(
  claim: SandboxClaim,
  { pool, template }: Surroundings,
  domains: readonly string[],
): ClaimProblem | undefined {
  if (!pool) return poolNotFound(claim.spec.warmPoolRef.name);
  if (!template) return templateNotFound(pool.template);
  const problem = requestProblem(claim, template, domains);
  return problem?.reason === "InvalidMetadata" ? undefined : problem;
}

/** What is to be done about the annotation: say the problem once it has lasted, or take the word back at once. */
export type Word = Situation & { problem?: ClaimProblem };

/**
 * Decides about the annotation of a claim; undefined: nothing is to be done.
 *
 * | claim | problem | annotation | word |
 * |---|---|---|---|
 * | being deleted | | any | none |
 * | bound | | there | goes |
 * | unbound | not known yet | any | none |
 * | unbound | its hook's to say | there | goes |
 * | unbound | none | is the binder's: its Sandbox is refused | none |
 * | unbound | none, and it is older than ten seconds | says so | none |
 * | unbound | none | there | goes |
 * | unbound | none | none | comes at ten seconds: nobody serves the claim |
 * | unbound | some | says it, of this generation | none |
 * | unbound | some | says another, or of another generation | goes |
 * | unbound | some | none | comes, once that has lasted |
 *
 * @param problemOf is asked for unbound claims only; `unknown`: not everything has been listed; `its hook's`: there is
 * one that the hook says by itself, and nobody else is to say another
 */
export function claimWord(
  claim: SandboxClaim,
  problemOf: (claim: SandboxClaim) => ClaimProblem | undefined | "unknown" | "its hook's",
): Word | undefined {
  const { metadata } = claim;
  const isAnnotated = metadata.annotations?.[UNRESOLVED_ANNOTATION] !== undefined;
  const goes: Word | undefined = isAnnotated
    ? { key: `leftover ${metadata.resourceVersion}`, kind: "leftover" }
    : undefined;
  if (metadata.deletionTimestamp !== undefined) return undefined;
  if (!isUnbound(claim)) return goes;
  const found = problemOf(claim);
  if (found === "unknown") return undefined;
  if (found === "its hook's") return goes;
  if (!found && isCreationRefused(readClaimProblem(metadata))) return undefined;
  const problem = found ?? (saysWhy(claim) ? undefined : NOT_SERVED);
  if (!problem) return goes;
  if (isAnnotated) return sameJson(readClaimProblem(metadata), problem) ? undefined : goes;
  const notBefore = problem === NOT_SERVED ? { notBefore: waitsSince(claim) + LATE_MS } : {};
  return { key: wordText(claim, problem), kind: "look", problem, ...notBefore };
}

/** Tells whether the claim's own status says what is in the way: bad metadata, its expiry. */
function saysWhy({ status }: SandboxClaim): boolean {
  const ready = findCondition(status?.conditions, "Ready");
  return ready !== undefined && ready.reason !== "SandboxMissing";
}

/** Since when a claim waits, in milliseconds since the epoch: from its creation, or from when it lost the Sandbox it had. */
function waitsSince({ metadata, status }: SandboxClaim): number {
  const lost = Date.parse(findCondition(status?.conditions, "Ready")?.lastTransitionTime ?? "");
  return Math.max(Date.parse(metadata.creationTimestamp ?? "") || 0, lost || 0);
}
