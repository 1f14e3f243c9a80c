/** Finds out whether a template's NetworkPolicy is in force. Without it, no sandbox of the template starts. @module */
import type { SandboxTemplate } from "../../sandboxtemplate.ts";
import { policyFault, policyMessage, policyName } from "../../templatepolicy.ts";
import { findCondition } from "../../objects/conditions.ts";
import { UNRESOLVED_ANNOTATION } from "../../objects/keys.ts";
import type { Facts } from "../facts.ts";
import { type Cause, cause, type Evidence, named, type ObjectRef } from "../finding.ts";
import { conditionEvidence, refOf, secondsSince } from "../scene.ts";
import { beingDeleted } from "./anykind.ts";

/** How long a missing policy is normal: users often apply template and claim together, and the hook needs some seconds. */
const PATIENCE_SECONDS = 30;

/** Returns the cause of a template's state. There always is one. */
export function templateFinding(facts: Facts, template: SandboxTemplate, now: Date): Cause {
  const at = refOf("SandboxTemplate", template.metadata);
  const isUnmanaged = template.spec.networkPolicyManagement === "Unmanaged";
  const found = beingDeleted(template.metadata, at) ?? policyMissing(facts, at, now);
  if (found) return found;
  if (facts.policy === null && !isUnmanaged) {
    const summary = `${named(at)} is new, and its NetworkPolicy "${policyName(at.name)}" is not there yet.`;
    return cause("Starting", { object: at, summary, evidence: [], isGuess: true });
  }
  return cause("Ready", {
    object: at,
    summary: isUnmanaged
      ? `${named(at)} leaves NetworkPolicies to others.`
      : `${named(at)} has its NetworkPolicy "${policyName(at.name)}" in force.`,
    evidence: [],
  });
}

/** The policy of a pool's template is not in force. In a full pool, the members may have lost their policy. */
export function poolPolicyMissing(facts: Facts, poolRef: ObjectRef, now: Date): Cause | undefined {
  const name = facts.pool?.spec.sandboxTemplateRef.name;
  return name === undefined ? undefined : policyMissing(facts, { ...poolRef, kind: "SandboxTemplate", name }, now);
}

/**
 * The template's annotation, the pool's condition or the policy itself shows that the policy is not in force;
 * undefined: none does.
 */
function policyMissing(facts: Facts, at: ObjectRef, now: Date): Cause | undefined {
  const evidence = [...ofTemplate(facts, at, now), ...ofPool(facts, now)];
  const [first] = evidence;
  if (!first) return undefined;
  return cause("NetworkPolicyMissing", {
    object: at,
    summary: `${named(at)} has no NetworkPolicy in force, so that no sandbox of it starts: ${first.words}.`,
    evidence: evidence.map(({ words: _, ...seen }) => seen),
    since: findCondition(facts.pool?.status?.conditions, "NetworkPolicy")?.lastTransitionTime,
  });
}

type Seen = Evidence & { words: string };

function ofTemplate({ template, policy }: Facts, object: ObjectRef, now: Date): Seen[] {
  if (!template) return [];
  const annotated = template.metadata.annotations?.[UNRESOLVED_ANNOTATION] !== undefined;
  if (!annotated && isYoung(template.metadata.creationTimestamp, now)) return [];
  const fault = policy === undefined ? undefined : policyFault(template, policy ?? undefined);
  const words = fault || annotated ? policyMessage(template, fault ?? { state: "missing", message: "" }) : "";
  if (words === "" || (policy && !fault)) return [];
  return [{ object, where: annotated ? "metadata.annotations" : "its NetworkPolicy", text: words, words }];
}

function ofPool({ pool }: Facts, now: Date): Seen[] {
  const condition = findCondition(pool?.status?.conditions, "NetworkPolicy");
  if (!pool || condition?.status !== "False" || isYoung(condition.lastTransitionTime, now)) return [];
  const [words = ""] = condition.message.split("; no sandbox of the template");
  return [{ ...conditionEvidence(refOf("SandboxWarmPool", pool.metadata), condition), words }];
}

function isYoung(since: string | undefined, now: Date): boolean {
  return since !== undefined && secondsSince(since, now) < PATIENCE_SECONDS;
}
