/** What is wrong with a claim that no hook can see, and what is to be done about its annotation. Pure. @module */
import { type ClaimProblem, problemText, readClaimProblem } from "../api/claimproblem.ts";
import type { SandboxClaim } from "../api/sandboxclaim.ts";
import type { SandboxTemplate } from "../api/sandboxtemplate.ts";
import { requestProblem } from "../api/claims/request.ts";
import {
  isBindersProblem,
  LATE_MS,
  NOT_SERVED,
  policyNotInForce,
  poolNotFound,
  templateNotFound,
} from "../api/claims/unserved.ts";
import { refusedWrite } from "../api/claims/refusedwrite.ts";
import { sameJson } from "../api/objects/apply.ts";
import { findCondition } from "../api/objects/conditions.ts";
import { UNRESOLVED_ANNOTATION } from "../api/objects/keys.ts";
import type { Situation } from "./look.ts";

/** What a claim refers to: its pool, and the template of that; undefined: does not exist. */
export interface Referred {
  pool: { template: string } | undefined;
  template: SandboxTemplate | undefined;
  /** What is wrong with the NetworkPolicy that the template must have; undefined: nothing. */
  policyProblem?: string | undefined;
}

/** Tells whether a claim still waits for a Sandbox. */
export function isUnbound({ metadata, status }: SandboxClaim): boolean {
  return !status?.sandbox?.name && metadata.deletionTimestamp === undefined;
}

/**
 * Tells what keeps an unbound claim from being served; undefined: nothing that a hook would not see.
 *
 * Bad metadata is the claim hook's own to say, which needs no template for it: nobody else is to say another.
 *
 * @param allowed `domains` of label keys that claims may use, `annotationDomains` of annotation keys; undefined: any
 */
export function claimProblem(
  claim: SandboxClaim,
  { pool, template, policyProblem }: Referred,
  allowed: { domains: readonly string[]; annotationDomains?: readonly string[] | undefined },
): ClaimProblem | undefined | "its hook's" {
  if (!pool) return poolNotFound(claim.spec.warmPoolRef.name);
  if (!template) return templateNotFound(pool.template);
  const problem = requestProblem(claim, template, allowed.domains, allowed.annotationDomains);
  if (problem?.reason === "InvalidMetadata") return "its hook's";
  return problem ?? (policyProblem === undefined ? undefined : policyNotInForce(pool.template, policyProblem));
}

/**
 * What is to be done about the annotation: say the problem once it has lasted, or take it back at once; `isOpen`: that is
 * decided by what the API server says; `refusal`: the API server's error about the claim's Sandbox, to be checked.
 */
export type ClaimSituation = Situation & { problem?: ClaimProblem; isOpen?: true; refusal?: string };

/** What is known of what keeps a claim from being served; undefined: nothing does. */
export type Known = ClaimProblem | undefined | "unknown" | "its hook's" | Large;

/** The template is not kept; another text: another version of it. */
interface Large {
  large: string;
}

/**
 * Decides about the annotation of a claim; undefined: nothing is to be done.
 *
 * | claim | problem | annotation | what comes of it |
 * |---|---|---|---|
 * | being deleted | | any | none |
 * | bound | a write of its Sandbox was refused, now or as the annotation says | any | is checked |
 * | bound | | there | goes |
 * | unbound | not known yet | any | none |
 * | unbound | its hook's to say | there | goes |
 * | unbound | its template is large | any | open |
 * | unbound | none | is the binder's: its Sandbox is refused | none |
 * | unbound | none, and it is older than ten seconds | says so | none |
 * | unbound | none | there | goes |
 * | unbound | none | none | comes at ten seconds: nobody serves the claim |
 * | unbound | some | says it, of this generation | none |
 * | unbound | some | says another, or of another generation | goes |
 * | unbound | some | none | comes, once that has lasted |
 *
 * @param problemOf is asked for unbound claims only; `unknown`: not everything has been listed; `its hook's`: there is
 * one that the hook says by itself
 * @param refusal the API server's recent error about the claim's Sandbox
 */
export function claimSituation(
  claim: SandboxClaim,
  problemOf: (claim: SandboxClaim) => Known,
  refusal?: string,
): ClaimSituation | undefined {
  const { metadata } = claim;
  const isAnnotated = metadata.annotations?.[UNRESOLVED_ANNOTATION] !== undefined;
  const goes: ClaimSituation | undefined = isAnnotated
    ? { key: `leftover ${metadata.resourceVersion}`, kind: "leftover" }
    : undefined;
  if (metadata.deletionTimestamp !== undefined) return undefined;
  if (!isUnbound(claim)) {
    // An earlier report holds until the write has succeeded: Events expire.
    const words = refusal ?? refusedWrite(metadata)?.words;
    return words === undefined ? goes : { key: `${metadata.generation} ${words}`, kind: "look", refusal: words };
  }
  const found = problemOf(claim);
  if (found === "unknown") return undefined;
  if (found === "its hook's") return goes;
  if (found && "large" in found) {
    return { key: `${metadata.generation} ${isAnnotated} ${found.large}`, kind: "look", isOpen: true };
  }
  if (!found && isBindersProblem(readClaimProblem(metadata))) return undefined;
  const problem = found ?? (saysWhy(claim) ? undefined : NOT_SERVED);
  if (!problem) return goes;
  if (isAnnotated) return sameJson(readClaimProblem(metadata), problem) ? undefined : goes;
  const notBefore = problem === NOT_SERVED ? { notBefore: waitsSince(claim) + LATE_MS } : {};
  return { key: problemText(claim, problem), kind: "look", problem, ...notBefore };
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
