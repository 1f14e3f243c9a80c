/** What keeps a claim from being served that no hook can see, and what to say of it. Pure. @module */
import { type ClaimProblem, type ClaimUnresolved, readClaimProblem } from "../api/claimproblem.ts";
import type { SandboxClaim } from "../api/sandboxclaim.ts";
import type { SandboxTemplate } from "../api/sandboxtemplate.ts";
import { poolNotFound, templateNotFound } from "../claims/poolreference.ts";
import { requestProblem } from "../claims/request.ts";
import { sameJson } from "../lib/apply.ts";
import { CLAIM_BOUND_LABEL, UNRESOLVED_ANNOTATION } from "../lib/keys.ts";
import type { Situation } from "./look.ts";

/** What a claim refers to: its pool, and the template of that; undefined: does not exist. */
export interface Surroundings {
  pool: { template: string } | undefined;
  template: SandboxTemplate | undefined;
}

/** Tells whether a claim still waits for a Sandbox. */
export function isUnbound({ metadata, status }: SandboxClaim): boolean {
  const isBound = metadata.labels?.[CLAIM_BOUND_LABEL] !== undefined || status?.sandbox?.name !== undefined;
  return !isBound && metadata.deletionTimestamp === undefined;
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
 * | unbound | none | there | goes |
 * | unbound | some | says it, of this generation | none |
 * | unbound | some | says another, or of another generation | goes |
 * | unbound | some | none | comes, once that has lasted |
 *
 * @param problemOf is asked for unbound claims only; `unknown`: not everything has been listed
 */
export function claimWord(
  claim: SandboxClaim,
  problemOf: (claim: SandboxClaim) => ClaimProblem | undefined | "unknown",
): Word | undefined {
  const { metadata } = claim;
  const isAnnotated = metadata.annotations?.[UNRESOLVED_ANNOTATION] !== undefined;
  const goes: Word | undefined = isAnnotated
    ? { key: `leftover ${metadata.resourceVersion}`, kind: "leftover" }
    : undefined;
  if (metadata.deletionTimestamp !== undefined) return undefined;
  if (!isUnbound(claim)) return goes;
  const problem = problemOf(claim);
  if (problem === "unknown") return undefined;
  if (!problem) return goes;
  if (isAnnotated) return sameJson(readClaimProblem(metadata), problem) ? undefined : goes;
  return { key: wordText(claim, problem), kind: "look", problem };
}

/** Writes what the annotation says: JSON of {@link ClaimUnresolved}. */
export function wordText({ metadata }: SandboxClaim, problem: ClaimProblem): string {
  const word: ClaimUnresolved = { generation: metadata.generation ?? 0, ...problem };
  return JSON.stringify(word);
}
