/** The root cause of a claim's state: what it refers to, what it asks for, and then its Sandbox. @module */
import { readClaimProblem } from "../../claimproblem.ts";
import type { Sandbox } from "../../sandbox.ts";
import type { SandboxClaim } from "../../sandboxclaim.ts";
import { expiryTime } from "../../expiry.ts";
import { requestProblem } from "../../claims/request.ts";
import { isNameTaken, isWriteRefused } from "../../claims/unserved.ts";
import { findCondition, rfc3339 } from "../../objects/conditions.ts";
import { CLAIM_UID_LABEL, FOR_CLAIM_ANNOTATION } from "../../objects/keys.ts";
import { controllerOf } from "../../objects/objects.ts";
import type { Code } from "../catalogue.ts";
import type { Facts } from "../facts.ts";
import { type Cause, cause, named, type ObjectRef } from "../finding.ts";
import { kubectl } from "../remedy.ts";
import { conditionEvidence, evidenceOf, refOf, secondsSince } from "../scene.ts";
import { binderDown } from "./binder.ts";
import { beingDeleted } from "./deletion.ts";
import { poolUnable, templateNotFound } from "./pool.ts";
import { refusalIn } from "./refused.ts";
import { sandboxFinding } from "./sandbox.ts";
import { hookFailing, silent } from "./silence.ts";
import { poolUnfenced } from "./template.ts";

/** Until then an unbound claim may simply not have been looked at. */
const PATIENCE_SECONDS = 10;
/** A claim that nothing is in the way of is Ready long before. */
const WAITING_SECONDS = 30;

/** What the rules about a claim look at. */
interface Ground {
  facts: Facts;
  claim: SandboxClaim;
  at: ObjectRef;
  /** The pool that it names, whether it exists or not. */
  poolRef: ObjectRef;
  isBound: boolean;
  now: Date;
}

/** Finds the cause; there is always one. */
export function claimFinding(facts: Facts, claim: SandboxClaim, now: Date): Cause {
  const at = refOf("SandboxClaim", claim.metadata);
  const poolRef = { ...at, kind: "SandboxWarmPool", name: claim.spec.warmPoolRef.name };
  const isBound = Boolean(claim.status?.sandbox?.name);
  const ground: Ground = { facts, claim, at, poolRef, isBound, now };
  for (const rule of RULES) {
    const found = rule(ground);
    if (found) return found;
  }
  return waits(ground);
}

const going = ({ claim, at }: Ground) => beingDeleted(claim.metadata, at);

function expired({ claim, at, now }: Ground): Cause | undefined {
  const ready = findCondition(claim.status?.conditions, "Ready");
  const time = expiryTime(claim);
  if (ready?.reason !== "ClaimExpired" && !(time !== undefined && time <= now.getTime())) return undefined;
  const since = time === undefined ? ready?.lastTransitionTime : rfc3339(new Date(time));
  const { shutdownTime, ttlSecondsAfterFinished: ttl } = claim.spec.lifecycle ?? {};
  const by = ttl === undefined ? `${shutdownTime}` : `${shutdownTime ?? "none"}, ttlSecondsAfterFinished ${ttl}`;
  return cause("Expired", {
    object: at,
    summary: `SandboxClaim "${at.name}" expired${since === undefined ? "" : ` at ${since}`}, and its Sandbox goes.`,
    evidence: [
      { object: at, where: "spec.lifecycle.shutdownTime", text: by },
      ...evidenceOf(at, claim.status?.conditions, "Ready"),
    ],
    since,
    remedy: "Create a new claim, with a later spec.lifecycle.shutdownTime or none.",
  });
}

function ready({ claim, at }: Ground): Cause | undefined {
  const condition = findCondition(claim.status?.conditions, "Ready");
  if (condition?.status !== "True") return undefined;
  return cause("Ready", {
    object: at,
    summary: `SandboxClaim "${at.name}" is Ready, with Sandbox "${claim.status?.sandbox?.name ?? ""}".`,
    evidence: [conditionEvidence(at, condition)],
    since: condition.lastTransitionTime,
  });
}

/** The API server does not let its Sandbox be changed or deleted, as the keeper has reported. */
function stuckSandbox({ facts, claim, at, poolRef }: Ground): Cause | undefined {
  const problem = readClaimProblem(claim.metadata);
  if (!isWriteRefused(problem)) return undefined;
  const ready = findCondition(claim.status?.conditions, "Ready");
  const evidence = ready?.message.includes(problem.message)
    ? conditionEvidence(at, ready)
    : { object: at, where: "metadata.annotations", text: problem.message };
  const scene = { at, blueprint: poolRef, facts, pod: undefined };
  return refusalIn(scene, { text: problem.message, evidence, since: ready?.lastTransitionTime });
}

/** Pool or template do not exist; a claim that has its Sandbox needs neither. */
function missing(ground: Ground): Cause | undefined {
  const { facts, claim, at, poolRef, isBound } = ground;
  if (isBound) return undefined;
  const condition = findCondition(claim.status?.conditions, "Ready");
  const says = (reason: string) => condition?.reason === reason ? [conditionEvidence(at, condition)] : [];
  if (facts.pool === null || (facts.pool === undefined && condition?.reason === "WarmPoolNotFound")) {
    return cause("WarmPoolNotFound", {
      object: poolRef,
      summary: `${named(poolRef)}, which the claim names, does not exist in namespace "${at.namespace}".`,
      evidence: [{ object: at, where: "spec.warmPoolRef.name", text: poolRef.name }, ...says("WarmPoolNotFound")],
      since: says("WarmPoolNotFound").length > 0 ? condition?.lastTransitionTime : claim.metadata.creationTimestamp,
      remedy: `Create it in namespace "${at.namespace}", or name one that exists (kubectl get sandboxwarmpools ` +
        `-n ${at.namespace}) in spec.warmPoolRef of a new claim.`,
    });
  }
  const name = facts.pool?.spec.sandboxTemplateRef.name ?? /"([^"]+)"/.exec(condition?.message ?? "")?.[1] ?? "";
  if (facts.template !== null && !(facts.template === undefined && condition?.reason === "TemplateNotFound")) {
    return undefined;
  }
  const found = templateNotFound(poolRef, name);
  return { ...found, evidence: [...found.evidence, ...says("TemplateNotFound")], path: [poolRef, found.object] };
}

/** The template's NetworkPolicy is missing, and no sandbox of the template starts without it. */
function unfenced(ground: Ground): Cause | undefined {
  const found = ground.isBound ? undefined : poolUnfenced(ground.facts, ground.poolRef, ground.now);
  return found && through(ground, found);
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
function rejected(ground: Ground): Cause | undefined {
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

/** Its Sandbox, given or made for it, says the rest; or it is gone. */
function given(ground: Ground): Cause | undefined {
  const { facts, claim, at, isBound, now } = ground;
  const { sandbox } = facts;
  if (sandbox && (isBound || isMadeFor(sandbox, claim))) {
    const found = sandboxFinding(facts, sandbox, now);
    return found.code === "Ready" ? undefined : through(ground, found);
  }
  if (!isBound || sandbox !== null) return undefined;
  const name = claim.status?.sandbox?.name ?? "";
  return cause("SandboxLost", {
    object: { ...at, kind: "Sandbox", name },
    summary: `Sandbox "${name}", which the claim had, does not exist any more.`,
    evidence: [
      { object: at, where: "status.sandbox.name", text: name },
      ...evidenceOf(at, claim.status?.conditions, "Ready"),
    ],
  });
}

function isMadeFor({ metadata }: Sandbox, { metadata: { uid } }: SandboxClaim): boolean {
  const { annotations = {}, labels = {} } = metadata;
  return uid !== undefined &&
    [annotations[FOR_CLAIM_ANNOTATION], labels[CLAIM_UID_LABEL], controllerOf(metadata)?.uid].includes(uid);
}

/** Nobody is there who would give it one. */
function unbound({ facts, claim, at, isBound, now }: Ground): Cause | undefined {
  const { sandbox } = facts;
  return isBound || (sandbox && isMadeFor(sandbox, claim)) ? undefined : binderDown(claim, at, facts, now);
}

function nameTaken(ground: Ground): Cause | undefined {
  const { facts: { sandbox }, claim, at, now } = ground;
  const { creationTimestamp: since } = claim.metadata;
  if (!sandbox || sandbox.metadata.name !== at.name) return undefined;
  const isSaid = isNameTaken(findCondition(claim.status?.conditions, "Ready")?.message ?? "");
  if (!isSaid && secondsSince(since, now) < PATIENCE_SECONDS) return undefined;
  const object = refOf("Sandbox", sandbox.metadata);
  const owner = controllerOf(sandbox.metadata);
  const whose = owner ? `${owner.kind} "${owner.name}" controls it` : "nobody controls it";
  const found = cause("SandboxNameTaken", {
    object,
    summary: `The pool has no Sandbox for the claim and cannot make one: ${named(object)} is somebody else's.`,
    evidence: [{ object, where: "metadata.ownerReferences", text: whose }],
    since,
    remedy: `Create the claim under another name, or delete that Sandbox: ${kubectl("delete", object)}.`,
  });
  return through(ground, found);
}

const failing = ({ claim, at, facts, now }: Ground) => hookFailing(claim, at, facts, now) ?? silent(claim, at, now);

/** Its pool cannot make it a Sandbox. */
function unserved(ground: Ground): Cause | undefined {
  const { facts, isBound, poolRef, now } = ground;
  const found = facts.pool && !isBound ? poolUnable(facts, facts.pool, poolRef, now) : undefined;
  return found && through(ground, found);
}

function waits({ facts: { pool }, claim, at, poolRef, isBound, now }: Ground): Cause {
  const { creationTimestamp: since } = claim.metadata;
  const told = [
    ...evidenceOf(at, claim.status?.conditions, "Ready"),
    ...(pool ? evidenceOf(poolRef, pool.status?.conditions, "Progressing") : []),
  ];
  const isLong = secondsSince(since, now) >= WAITING_SECONDS;
  const what = isBound ? "does not show yet that its Sandbox is Ready" : "waits for a Sandbox of its pool";
  return cause(isLong ? "NotReady" : "Starting", {
    object: at,
    summary: `SandboxClaim "${at.name}" ${what}${isLong ? ", and nothing that could be read says why" : ""}.`,
    evidence: told.length > 0 ? told : [{ object: at, where: "status", text: "it has no conditions" }],
    since,
    isGuess: true,
  });
}

/** The way to a claim's Sandbox leads through its pool, if that is known to exist. */
function through({ facts: { pool }, poolRef }: Ground, found: Cause): Cause {
  return pool ? { ...found, path: [poolRef, ...found.path] } : found;
}

/** The first rule that finds a cause decides. */
const RULES = [
  going,
  stuckSandbox,
  expired,
  ready,
  missing,
  unfenced,
  rejected,
  given,
  unbound,
  nameTaken,
  unserved,
  failing,
];
