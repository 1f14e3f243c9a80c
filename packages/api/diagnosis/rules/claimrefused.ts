/** A claim that is refused something: what it asks for, or changes to the Sandbox that it has. @module */
import { readClaimProblem } from "../../claimproblem.ts";
import { requestProblem } from "../../claims/request.ts";
import { refusedWrite } from "../../claims/refusedwrite.ts";
import { isNameTaken } from "../../claims/unserved.ts";
import { findCondition } from "../../objects/conditions.ts";
import type { Code } from "../catalogue.ts";
import { type Cause, cause, named } from "../finding.ts";
import { conditionEvidence, refOf } from "../scene.ts";
import { type ClaimGround, through } from "./claimground.ts";
import { refusalIn } from "./refused.ts";

/** The API server does not let its Sandbox be changed or deleted, as the keeper has reported. */
export function stuckSandbox({ facts, claim, at, poolRef }: ClaimGround): Cause | undefined {
  const refused = refusedWrite(claim.metadata);
  if (!refused) return undefined;
  const { problem: { message }, words } = refused;
  const ready = findCondition(claim.status?.conditions, "Ready");
  const evidence = ready?.message.includes(message)
    ? conditionEvidence(at, ready)
    : { object: at, where: "metadata.annotations", text: message };
  const scene = { at, blueprint: poolRef, facts, pod: undefined };
  return refusalIn(scene, { text: words, evidence, since: ready?.lastTransitionTime });
}

/** Reasons of a claim's Ready, and of the keeper's word, that say that it may not have what it asks for. */
const REJECTIONS: Record<
  string,
  { code: Code; asked?: string; policy?: "envVarsInjectionPolicy" | "volumeClaimTemplatesPolicy" }
> = {
  InvalidMetadata: { code: "InvalidMetadata" },
  EnvVarsInjectionRejected: { code: "EnvVarsInjectionRejected", asked: "spec.env", policy: "envVarsInjectionPolicy" },
  VolumeClaimTemplatesError: {
    code: "VolumeClaimTemplatesError",
    asked: "spec.volumeClaimTemplates",
    policy: "volumeClaimTemplatesPolicy",
  },
  ReconcilerError: { code: "ClaimRejected" },
};

/** The claim asks for what it may not have: as its conditions say, as the keeper says, or as its template says. */
export function rejected(ground: ClaimGround): Cause | undefined {
  const { claim, at, facts: { template }, isBound, poolRef } = ground;
  if (isBound) return undefined;
  const condition = findCondition(claim.status?.conditions, "Ready");
  const isSaid = condition !== undefined && condition.reason in REJECTIONS;
  const problem = isSaid
    ? condition
    : readClaimProblem(claim.metadata) ?? (template && requestProblem(claim, template, undefined));
  const rejection = problem && REJECTIONS[problem.reason];
  // Whose Sandbox it is says more.
  if (!rejection || (isNameTaken(problem.message) && ground.facts.sandbox)) return undefined;
  const templateRef = template && refOf("SandboxTemplate", template.metadata);
  const evidence = isSaid
    ? conditionEvidence(at, condition)
    : { object: at, where: "metadata.annotations", text: problem.message };
  const since = isSaid ? condition.lastTransitionTime : claim.metadata.creationTimestamp;
  const scene = { at, blueprint: templateRef ?? poolRef, facts: ground.facts, pod: undefined };
  const refusal = refusalIn(scene, { text: problem.message, evidence, since });
  // A refusal that names no other object is about the claim.
  if (refusal) return refusal.object === at ? refusal : through(ground, refusal);
  const { code, asked, policy } = rejection;
  const message = problem.message.replace(/^Error seen: /, "");
  const value = policy && template?.spec[policy];
  const whose = templateRef ? named(templateRef) : `the template of ${named(poolRef)}`;
  return cause(code, {
    object: at,
    summary: `SandboxClaim "${at.name}" was rejected: ${message}.`,
    evidence: [
      isSaid ? conditionEvidence(at, condition) : { object: at, where: "spec", text: message },
      ...(templateRef && value ? [{ object: templateRef, where: `spec.${policy}`, text: value }] : []),
    ],
    since,
    ...(policy ? { remedy: `Leave ${asked} out of a new claim, or set spec.${policy} of ${whose} to Allowed.` } : {}),
  });
}
