/**
 * Finds out whether a claim is refused something: what it asks for, its variables in its Pod, or changes to its
 * Sandbox. @module
 */
import { boundSandbox } from "../../claims/binding.ts";
import { isMetadataConflict } from "../../claims/podmetadata.ts";
import { isNameTaken } from "../../claims/problem.ts";
import { requestProblem } from "../../claims/request.ts";
import { isRefusedWrite, lacksMetadata, refusedWords, refusedWrite } from "../../keeperreports.ts";
import { type Condition, findCondition } from "../../objects/conditions.ts";
import { REFUSED_WRITE_ANNOTATION } from "../../objects/keys.ts";
import { controllerOf } from "../../objects/objects.ts";
import type { Sandbox } from "../../sandbox.ts";
import type { SandboxClaim } from "../../sandboxclaim.ts";
import type { Code } from "../catalogue.ts";
import type { Facts } from "../facts.ts";
import { type Cause, cause, type Evidence, named, type ObjectRef } from "../finding.ts";
import { quotedError } from "../messages.ts";
import { kubectl } from "../remedy.ts";
import { conditionEvidence, eventEvidence, eventsOf, refOf } from "../scene.ts";
import { refusalIn } from "./refused.ts";

/** A claim, and what is known about it. */
export interface ClaimScene {
  facts: Facts;
  claim: SandboxClaim;
  at: ObjectRef;
  /** The pool that the claim names, even if it does not exist. */
  poolRef: ObjectRef;
  isBound: boolean;
  now: Date;
}

/** Adds the pool, if it is known to exist, to the path from the claim to its Sandbox. */
export function withPool({ facts: { pool }, poolRef }: ClaimScene, found: Cause): Cause {
  return pool ? { ...found, path: [poolRef, ...found.path] } : found;
}

/**
 * Finds out whether the API server refuses to change or delete the claim's Sandbox. There are three sources: the
 * claim's condition; before the claim reports it, the keeper's annotation on the Sandbox; and if the API server refuses
 * the annotation too, only Metacontroller's Event. If the claim is Ready and its metadata is applied, nothing is
 * refused any more: the keeper is about to remove its annotation.
 */
export function stuckSandbox({ facts, claim, at }: ClaimScene): Cause | undefined {
  const ready = findCondition(claim.status?.conditions, "Ready");
  const isReady = ready?.status === "True";
  if (isReady && !lacksMetadata(ready.message)) return undefined;
  const told = isReady
    ? reportedByEvent(facts, at, claim)
    : (ready && reportedByClaim(at, ready)) ?? (facts.sandbox && reportedOnSandbox(claim, facts.sandbox));
  // The user would change the claim to change the Sandbox.
  const scene = { at, blueprint: at, facts, pod: undefined };
  return told ? refusalIn(scene, { ...told, since: ready?.lastTransitionTime }) : undefined;
}

/** The API server's message, and where it was found. */
interface ReportedRefusal {
  text: string;
  evidence: Evidence;
}

function reportedByClaim(at: ObjectRef, ready: Condition): ReportedRefusal | undefined {
  // The message of an expired claim begins with its expiry.
  const report = ready.message.slice(Math.max(0, ready.message.indexOf("Error seen: ")));
  return isRefusedWrite(report) ? { text: refusedWords(report), evidence: conditionEvidence(at, ready) } : undefined;
}

/** If the API server refuses all updates of the Sandbox, only Metacontroller's Event reports it. */
function reportedByEvent(
  facts: ClaimScene["facts"],
  at: ObjectRef,
  { metadata }: SandboxClaim,
): ReportedRefusal | undefined {
  const [event] = eventsOf(facts, at, metadata.uid).filter(({ reason }) => reason === "SyncError");
  return event && { text: quotedError(event.message), evidence: eventEvidence(event) };
}

function reportedOnSandbox(claim: SandboxClaim, sandbox: Sandbox): ReportedRefusal | undefined {
  const isControlled = controllerOf(sandbox.metadata)?.uid === claim.metadata.uid;
  const text = isControlled && boundSandbox(claim, [sandbox]) ? refusedWrite(sandbox.metadata)?.words : undefined;
  if (text === undefined) return undefined;
  const where = `metadata.annotations[${REFUSED_WRITE_ANNOTATION}]`;
  return { text, evidence: { object: refOf("Sandbox", sandbox.metadata), where, text } };
}

/** Reasons of a claim's Ready condition which mean that it may not have what it asks for. */
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

/**
 * The claim asks for something that is not allowed, according to its condition or, if that does not report it, to its
 * template.
 */
export function rejected(scene: ClaimScene): Cause | undefined {
  const { claim, at, facts: { template }, isBound, poolRef } = scene;
  const condition = findCondition(claim.status?.conditions, "Ready");
  if (isBound) return condition && metadataRejected(scene, condition);
  const isSaid = condition !== undefined && condition.reason in REJECTIONS;
  const problem = isSaid ? condition : template && requestProblem(claim, template, undefined);
  const rejection = problem && REJECTIONS[problem.reason];
  // Another rule explains the taken name better, because it knows the Sandbox's owner.
  if (!rejection || (isNameTaken(problem.message) && scene.facts.sandbox)) return undefined;
  const message = withoutPrefix(problem.message);
  const templateRef = template && refOf("SandboxTemplate", template.metadata);
  const evidence = isSaid ? conditionEvidence(at, condition) : { object: at, where: "spec", text: message };
  const since = isSaid ? condition.lastTransitionTime : claim.metadata.creationTimestamp;
  const edited = { at, blueprint: templateRef ?? poolRef, facts: scene.facts, pod: undefined };
  const refusal = refusalIn(edited, { text: problem.message, evidence, since });
  // A refusal that names no other object is about the claim.
  if (refusal) return refusal.object === at ? refusal : withPool(scene, refusal);
  const { code, asked, policy } = rejection;
  const value = policy && template?.spec[policy];
  const whose = templateRef ? named(templateRef) : `the template of ${named(poolRef)}`;
  return cause(code, {
    object: at,
    summary: `SandboxClaim "${at.name}" was rejected: ${message}.`,
    evidence: [
      evidence,
      ...(templateRef && value ? [{ object: templateRef, where: `spec.${policy}`, text: value }] : []),
    ],
    since,
    ...(policy ? { remedy: `Leave ${asked} out of a new claim, or set spec.${policy} of ${whose} to Allowed.` } : {}),
  });
}

/** A bound claim asks for Pod metadata that its Sandbox cannot get. Other reasons come from the Sandbox itself. */
function metadataRejected({ at }: ClaimScene, condition: Condition): Cause | undefined {
  const { reason, message, lastTransitionTime: since } = condition;
  const isConflict = reason === "ReconcilerError" && isMetadataConflict(message);
  if (reason !== "InvalidMetadata" && !isConflict) return undefined;
  return cause(isConflict ? "ClaimRejected" : "InvalidMetadata", {
    object: at,
    summary: `SandboxClaim "${at.name}" asks for Pod metadata that its Sandbox cannot get: ${withoutPrefix(message)}.`,
    evidence: [conditionEvidence(at, condition)],
    since,
    remedy: `Change spec.additionalPodMetadata of the claim: ${kubectl("edit", at)}.`,
  });
}

function withoutPrefix(message: string): string {
  return message.replace(/^Error seen: /, "");
}

/** The API server's message about an invalid variable name. If the message names several fields, the first counts. */
const REFUSED_NAME = /Pod "[^"]+" is invalid: \[?spec\.(containers|initContainers)\[(\d+)\]\.env\[(\d+)\]\.name: /;

/**
 * Returns the cause that was found for the claim's Sandbox. If the API server refuses the Pod because of a variable
 * that the claim sets, the cause is the claim, not the template.
 */
export function ofClaimsVariable({ claim, at }: ClaimScene, sandbox: Sandbox, found: Cause): Cause {
  if (found.code !== "InvalidConfiguration") return found;
  const index = variableOf(claim.spec.env ?? [], sandbox, found.evidence[0]?.text ?? "");
  if (index < 0) return found;
  const remedy = `Correct spec.env[${index}].name of ${named(at)}, then recreate the claim.`;
  return { ...found, object: at, path: [], remedy };
}

/** Returns the index of the claim's variable that the message is about; -1: it is about none. */
function variableOf(
  env: readonly { name: string; containerName?: string | undefined }[],
  { spec: { podTemplate } }: Sandbox,
  words: string,
): number {
  const [, list = "", container, variable] = REFUSED_NAME.exec(words) ?? [];
  const { containers, initContainers = [] } = podTemplate.spec;
  const target = (list === "containers" ? containers : initContainers)[Number(container)];
  const name = target?.env?.[Number(variable)]?.name;
  if (!target || name === undefined) return -1;
  return env.findIndex((one) => one.name === name && (one.containerName || containers[0]?.name) === target.name);
}
