/** Finds the root cause of a pool's state: its template, its worst member, or its hook. @module */
import type { SandboxWarmPool } from "../../sandboxwarmpool.ts";
import { findCondition } from "../../objects/conditions.ts";
import type { Facts } from "../facts.ts";
import { type Cause, cause, named, type ObjectRef } from "../finding.ts";
import { worstMember } from "../sandboxcause.ts";
import { evidenceOf, refOf } from "../scene.ts";
import { beingDeleted, hookFailing, notReconciled } from "./anykind.ts";
import type { EditedScene } from "../remedy.ts";
import { creationRefused, stuck } from "./refused.ts";
import { sandboxFinding } from "./sandbox.ts";
import { poolPolicyMissing } from "./template.ts";

/** Metacontroller retries all the time. A refusal that is older than this may be over. */
const RECENT_MS = 300_000;

/** Returns the cause of the pool's state. There always is one. */
export function poolFinding(facts: Facts, pool: SandboxWarmPool, now: Date): Cause {
  const at = refOf("SandboxWarmPool", pool.metadata);
  const member = memberCause(facts, pool, at, now);
  // The cause of a member says more than the fact that other members cannot be created.
  const definite = member && !member.isGuess ? member : undefined;
  return beingDeleted(pool.metadata, at) ?? poolPolicyMissing(facts, at, now) ??
    stuck(editedSceneOf(facts, pool, at), pool.metadata) ??
    full(pool, at) ??
    withoutTemplate(facts, pool, at) ?? definite ??
    poolUnable(facts, pool, at, now) ?? member ?? filling(pool, at);
}

function full({ spec, status, metadata }: SandboxWarmPool, at: ObjectRef): Cause | undefined {
  const { readyReplicas = 0, observedGeneration = metadata.generation, conditions } = status ?? {};
  if (!status || readyReplicas < spec.replicas || (observedGeneration ?? 0) < (metadata.generation ?? 0)) {
    return undefined;
  }
  return cause("Ready", {
    object: at,
    summary: `SandboxWarmPool "${at.name}" is full: ${readyReplicas} of ${spec.replicas} sandboxes are Ready.`,
    evidence: evidenceOf(at, conditions, "Progressing"),
    since: findCondition(conditions, "Ready")?.lastTransitionTime,
  });
}

function withoutTemplate({ template }: Facts, pool: SandboxWarmPool, at: ObjectRef): Cause | undefined {
  const progressing = findCondition(pool.status?.conditions, "Progressing");
  const isSaid = progressing?.reason === "TemplateNotFound";
  if (template !== null && !(template === undefined && isSaid)) return undefined;
  const found = templateNotFound(at, pool.spec.sandboxTemplateRef.name);
  return {
    ...found,
    evidence: [...found.evidence, ...(isSaid ? evidenceOf(at, pool.status?.conditions, "Progressing") : [])],
    ...(isSaid ? { since: progressing.lastTransitionTime } : {}),
  };
}

/** The template of a pool does not exist. */
export function templateNotFound(poolRef: ObjectRef, name: string): Cause {
  const object = { ...poolRef, kind: "SandboxTemplate", name };
  return cause("TemplateNotFound", {
    object,
    summary: `${named(object)}, which ${named(poolRef)} is made from, does not exist.`,
    evidence: [{ object: poolRef, where: "spec.sandboxTemplateRef.name", text: name }],
    remedy: `Create it in namespace "${poolRef.namespace}", or name another in spec.sandboxTemplateRef of ${
      named(poolRef)
    }.`,
  });
}

/** The pool cannot create any Sandboxes; undefined: nothing shows this. */
export function poolUnable(facts: Facts, pool: SandboxWarmPool, at: ObjectRef, now: Date): Cause | undefined {
  const recent = new Date(now.getTime() - RECENT_MS).toISOString();
  return creationRefused(editedSceneOf(facts, pool, at), pool.metadata.uid, recent) ??
    hookFailing(pool, at, facts, now) ?? notReconciled(pool, at, now);
}

function editedSceneOf(facts: Facts, pool: SandboxWarmPool, at: ObjectRef): EditedScene {
  const blueprint = { ...at, kind: "SandboxTemplate", name: pool.spec.sandboxTemplateRef.name };
  return { at, blueprint, facts, pod: undefined };
}

function memberCause(facts: Facts, pool: SandboxWarmPool, at: ObjectRef, now: Date): Cause | undefined {
  const { members = [] } = facts;
  const member = facts.sandbox ?? worstMember(members);
  if (!member) return undefined;
  const found = sandboxFinding(facts, member, now);
  if (found.code === "Ready") return undefined;
  return { ...found, evidence: [...found.evidence, ...evidenceOf(at, pool.status?.conditions, "Progressing")] };
}

function filling({ metadata, status, spec }: SandboxWarmPool, at: ObjectRef): Cause {
  const told = evidenceOf(at, status?.conditions, "Progressing");
  return cause("Starting", {
    object: at,
    summary: `SandboxWarmPool "${at.name}" is filling: ${status?.readyReplicas ?? 0} of ${spec.replicas} are Ready.`,
    evidence: told.length > 0 ? told : [{ object: at, where: "status", text: "it has no conditions" }],
    since: findCondition(status?.conditions, "Ready")?.lastTransitionTime ?? metadata.creationTimestamp,
    isGuess: true,
  });
}
