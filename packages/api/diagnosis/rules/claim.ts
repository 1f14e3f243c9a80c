/**
 * Finds the root cause of a claim's state. It checks what the claim refers to, what it asks for, and then its Sandbox.
 * @module
 */
import { isNameTaken } from "../../claims/problem.ts";
import { expiryTime } from "../../expiry.ts";
import { BINDER_LEASE, SYSTEM_NAMESPACE } from "../../installation.ts";
import { findCondition, rfc3339 } from "../../objects/conditions.ts";
import { CLAIM_UID_LABEL, FOR_CLAIM_ANNOTATION } from "../../objects/keys.ts";
import { controllerOf } from "../../objects/objects.ts";
import type { Sandbox } from "../../sandbox.ts";
import type { SandboxClaim } from "../../sandboxclaim.ts";
import type { Code } from "../catalogue.ts";
import type { Facts } from "../facts.ts";
import { type Cause, cause, type Evidence, named, type ObjectRef } from "../finding.ts";
import { kubectl } from "../remedy.ts";
import { conditionEvidence, evidenceOf, refOf, secondsSince } from "../scene.ts";
import { beingDeleted, hookFailing, notReconciled } from "./anykind.ts";
import { type ClaimScene, ofClaimsVariable, rejected, stuckSandbox, withPool } from "./claimrefused.ts";
import { isCrashLooping } from "./containers.ts";
import { poolUnable, templateNotFound } from "./pool.ts";
import { sandboxFinding } from "./sandbox.ts";
import { poolPolicyMissing } from "./template.ts";

/** If no problem exists, a claim is Ready long before this many seconds. */
const WAITING_SECONDS = 30;

/** Returns the cause of the claim's state. There always is one. */
export function claimFinding(facts: Facts, claim: SandboxClaim, now: Date): Cause {
  const at = refOf("SandboxClaim", claim.metadata);
  const poolRef = { ...at, kind: "SandboxWarmPool", name: claim.spec.warmPoolRef.name };
  const isBound = Boolean(claim.status?.sandbox?.name);
  const scene: ClaimScene = { facts, claim, at, poolRef, isBound, now };
  for (const rule of RULES) {
    const found = rule(scene);
    if (found) return found;
  }
  return waiting(scene);
}

const deleting = ({ claim, at }: ClaimScene) => beingDeleted(claim.metadata, at);

function expired({ claim, at, now }: ClaimScene): Cause | undefined {
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

/** The claim is Ready, and its Sandbox not only for the moment between two crashes. */
function ready({ facts, claim, at, isBound, now }: ClaimScene): Cause | undefined {
  const condition = findCondition(claim.status?.conditions, "Ready");
  if (condition?.status !== "True") return undefined;
  const { sandbox, pod } = facts;
  if (isBound && sandbox && pod && isCrashLooping(pod, now) && sandboxFinding(facts, sandbox, now).code !== "Ready") {
    return undefined;
  }
  return cause("Ready", {
    object: at,
    summary: `SandboxClaim "${at.name}" is Ready, with Sandbox "${claim.status?.sandbox?.name ?? ""}".`,
    evidence: [conditionEvidence(at, condition)],
    since: condition.lastTransitionTime,
  });
}

/** The pool or the template does not exist. A bound claim needs neither. */
function missing(scene: ClaimScene): Cause | undefined {
  const { facts, claim, at, poolRef, isBound } = scene;
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
function policyMissing(scene: ClaimScene): Cause | undefined {
  if (scene.isBound) return undefined;
  const found = poolPolicyMissing(scene.facts, scene.poolRef, scene.now);
  return found ? withPool(scene, found) : policyMissingByCondition(scene);
}

/** The binder's message, if neither pool nor template was read. */
const UNFENCED = /^No sandbox of SandboxTemplate "([^"]+)" starts without its NetworkPolicy: (.*)$/s;

function policyMissingByCondition({ facts: { template }, claim, at }: ClaimScene): Cause | undefined {
  const condition = findCondition(claim.status?.conditions, "Ready");
  const [, name, words] = UNFENCED.exec(condition?.message ?? "") ?? [];
  if (template || !condition || name === undefined) return undefined;
  const object = { ...at, kind: "SandboxTemplate", name };
  return cause("NetworkPolicyMissing", {
    object,
    summary: `${named(object)} has no NetworkPolicy in force, so that no sandbox of it starts: ${words}.`,
    evidence: [conditionEvidence(at, condition)],
    since: condition.lastTransitionTime,
  });
}

/** The claim's Sandbox, bound to it or created for it, shows the cause. Or the Sandbox no longer exists. */
function ofSandbox(scene: ClaimScene): Cause | undefined {
  const { facts, claim, at, isBound, now } = scene;
  const { sandbox } = facts;
  if (sandbox && (isBound || isMadeFor(sandbox, claim))) {
    const found = ofClaimsVariable(scene, sandbox, sandboxFinding(facts, sandbox, now));
    if (found.code === "Ready") return undefined;
    return found.object === at ? found : withPool(scene, found);
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

/** Reasons that a claim's condition copies from its Sandbox, and what they mean. */
const COPIED: Record<string, { code: Code; says: string }> = {
  SandboxSuspended: { code: "Suspended", says: "is suspended" },
  SandboxExpired: { code: "Expired", says: "has expired" },
  PodSucceeded: { code: "PodSucceeded", says: "has finished its work" },
  PodFailed: { code: "PodFailed", says: "has failed: its Pod ended and does not start again" },
  SandboxMissing: { code: "SandboxLost", says: "does not exist any more" },
};

/** The claim's Sandbox was not read, and the claim's condition reports its state. */
function ofUnreadSandbox({ facts: { sandbox }, claim, at, isBound }: ClaimScene): Cause | undefined {
  const condition = findCondition(claim.status?.conditions, "Ready");
  const copied = COPIED[condition?.reason ?? ""];
  if (!isBound || sandbox !== undefined || !condition || !copied) return undefined;
  const object = { ...at, kind: "Sandbox", name: claim.status?.sandbox?.name ?? "" };
  return cause(copied.code, {
    object,
    summary: `${named(object)} ${copied.says}.`,
    evidence: [conditionEvidence(at, condition)],
    since: condition.lastTransitionTime,
  });
}

function isMadeFor({ metadata }: Sandbox, { metadata: { uid } }: SandboxClaim): boolean {
  const { annotations = {}, labels = {} } = metadata;
  return uid !== undefined &&
    [annotations[FOR_CLAIM_ANNOTATION], labels[CLAIM_UID_LABEL], controllerOf(metadata)?.uid].includes(uid);
}

/** The claim has no Sandbox because no binder is running. */
function unbound({ facts, claim, at, isBound, now }: ClaimScene): Cause | undefined {
  const { sandbox } = facts;
  return isBound || (sandbox && isMadeFor(sandbox, claim)) ? undefined : binderDown(claim, at, facts, now);
}

/** The claim's own condition says so, whether or not a binder is running. */
function nameTakenAsSaid(scene: ClaimScene): Cause | undefined {
  const condition = findCondition(scene.claim.status?.conditions, "Ready");
  return isNameTaken(condition?.message ?? "") ? takenName(scene) : undefined;
}

/** The claim's condition does not say so yet, although a binder had the time. */
function nameTaken(scene: ClaimScene): Cause | undefined {
  const age = secondsSince(scene.claim.metadata.creationTimestamp, scene.now);
  return age < BINDING_SECONDS ? undefined : takenName(scene);
}

function takenName(scene: ClaimScene): Cause | undefined {
  const { facts: { sandbox }, claim, at } = scene;
  const { creationTimestamp: since } = claim.metadata;
  if (!sandbox || sandbox.metadata.name !== at.name || isMadeFor(sandbox, claim)) return undefined;
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
  return withPool(scene, found);
}

/** The responsible process has not written the claim's status: for a bound claim the hook, otherwise the binder. */
function failing({ claim, at, facts, isBound, now }: ClaimScene): Cause | undefined {
  if (isBound) return hookFailing(claim, at, facts, now) ?? notReconciled(claim, at, now);
  const found = notReconciled(claim, at, now);
  return found && { ...found, remedy: `See that the binder runs (Lease ${BINDER_LEASE}), and read its log.` };
}

/** The claim's pool cannot create a Sandbox for it. */
function unserved(scene: ClaimScene): Cause | undefined {
  const { facts, isBound, poolRef, now } = scene;
  const found = facts.pool && !isBound ? poolUnable(facts, facts.pool, poolRef, now) : undefined;
  return found && withPool(scene, found);
}

function waiting({ facts: { pool }, claim, at, poolRef, isBound, now }: ClaimScene): Cause {
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
  deleting,
  stuckSandbox,
  expired,
  ready,
  missing,
  policyMissing,
  rejected,
  ofSandbox,
  ofUnreadSandbox,
  nameTakenAsSaid,
  unbound,
  nameTaken,
  unserved,
  failing,
];

/**
 * A running binder has served a claim after this many seconds. The clocks of cluster and reader may differ by as much.
 */
const BINDING_SECONDS = 10;
/** If there is no Lease, a binder may run without one and be busy, so the rule waits this many seconds. */
const GUESS_SECONDS = 30;

/**
 * Returns why a claim without a Sandbox waits.
 *
 * | Lease | finding |
 * |---|---|
 * | not read | none |
 * | held, and renewed within its duration or within 10 s | none |
 * | held, but not renewed | BinderDown, since the last renewal |
 * | released | BinderDown, since then |
 * | does not exist | BinderDown after 30 s, as a guess: a binder may run without a Lease |
 */
function binderDown(claim: SandboxClaim, at: ObjectRef, { binder }: Facts, now: Date): Cause | undefined {
  const { creationTimestamp } = claim.metadata;
  const patience = binder ? BINDING_SECONDS : GUESS_SECONDS;
  if (binder === undefined || secondsSince(creationTimestamp, now) < patience) return undefined;
  const { holderIdentity, renewTime, leaseDurationSeconds = 0 } = binder?.spec ?? {};
  const isRenewed = secondsSince(renewTime, now) < Math.max(leaseDurationSeconds, BINDING_SECONDS);
  if (holderIdentity && isRenewed) return undefined;
  const object = { kind: "Lease", namespace: binder?.metadata.namespace ?? SYSTEM_NAMESPACE, name: BINDER_LEASE };
  const seen: Omit<Evidence, "object"> = !binder
    ? { where: "metadata.name", text: "there is no such Lease" }
    : holderIdentity
    ? { where: "spec.renewTime", text: `${holderIdentity} renewed it last at ${renewTime}` }
    : { where: "spec.holderIdentity", text: `nobody since ${renewTime ?? "it was made"}` };
  return cause("BinderDown", {
    object,
    summary: `The binder is not running: nobody holds Lease "${BINDER_LEASE}", so claims get no Sandboxes.`,
    evidence: [{ object, ...seen }, ...evidenceOf(at, claim.status?.conditions, "Ready")],
    since: renewTime ?? creationTimestamp,
    isGuess: !binder,
  });
}
