/**
 * Finds the root cause of a claim's state. It checks what the claim refers to, what it asks for, and then its Sandbox.
 * @module
 */
import type { Sandbox } from "../../sandbox.ts";
import type { SandboxClaim } from "../../sandboxclaim.ts";
import { expiryTime } from "../../expiry.ts";
import { isNameTaken } from "../../claims/unserved.ts";
import { BINDER_LEASE } from "../../installation.ts";
import { findCondition, rfc3339 } from "../../objects/conditions.ts";
import { CLAIM_UID_LABEL, FOR_CLAIM_ANNOTATION } from "../../objects/keys.ts";
import { controllerOf } from "../../objects/objects.ts";
import type { Facts } from "../facts.ts";
import { type Cause, cause, named } from "../finding.ts";
import { kubectl } from "../remedy.ts";
import { conditionEvidence, evidenceOf, refOf, secondsSince } from "../scene.ts";
import { binderDown, BINDING_SECONDS } from "./binder.ts";
import { type ClaimGround as Ground, through } from "./claimground.ts";
import { ofClaimsVariable, rejected, stuckSandbox } from "./claimrefused.ts";
import { beingDeleted } from "./deletion.ts";
import { poolUnable, templateNotFound } from "./pool.ts";
import { sandboxFinding } from "./sandbox.ts";
import { hookFailing, silent } from "./silence.ts";
import { poolUnfenced } from "./template.ts";

/** If no problem exists, a claim is Ready long before this many seconds. */
const WAITING_SECONDS = 30;

/** Returns the cause of the claim's state. There always is one. */
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

/** The pool or the template does not exist. A bound claim needs neither. */
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

/** The claim's Sandbox, bound to it or created for it, shows the cause. Or the Sandbox no longer exists. */
function given(ground: Ground): Cause | undefined {
  const { facts, claim, at, isBound, now } = ground;
  const { sandbox } = facts;
  if (sandbox && (isBound || isMadeFor(sandbox, claim))) {
    const found = ofClaimsVariable(ground, sandbox, sandboxFinding(facts, sandbox, now));
    if (found.code === "Ready") return undefined;
    return found.object === at ? found : through(ground, found);
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

/** The claim has no Sandbox because no binder is running. */
function unbound({ facts, claim, at, isBound, now }: Ground): Cause | undefined {
  const { sandbox } = facts;
  return isBound || (sandbox && isMadeFor(sandbox, claim)) ? undefined : binderDown(claim, at, facts, now);
}

function nameTaken(ground: Ground): Cause | undefined {
  const { facts: { sandbox }, claim, at, now } = ground;
  const { creationTimestamp: since } = claim.metadata;
  if (!sandbox || sandbox.metadata.name !== at.name) return undefined;
  const isSaid = isNameTaken(findCondition(claim.status?.conditions, "Ready")?.message ?? "");
  if (!isSaid && secondsSince(since, now) < BINDING_SECONDS) return undefined;
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

/** The responsible process has not written the claim's status: for a bound claim the hook, otherwise the binder. */
function failing({ claim, at, facts, isBound, now }: Ground): Cause | undefined {
  if (isBound) return hookFailing(claim, at, facts, now) ?? silent(claim, at, now);
  const found = silent(claim, at, now);
  return found && { ...found, remedy: `See that the binder runs (Lease ${BINDER_LEASE}), and read its log.` };
}

/** The claim's pool cannot create a Sandbox for it. */
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
