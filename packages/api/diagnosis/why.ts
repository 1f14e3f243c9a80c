/**
 * Computes the answer of `hookbox why`: the root cause of the state of a claim, pool, template or Sandbox, from the
 * given facts. @module
 */
import type { Facts, Subject } from "./facts.ts";
import { type Cause, cause, type Evidence, type Finding, isSame, named, type ObjectRef } from "./finding.ts";
import { lackedRight } from "./messages.ts";
import { secondsSince } from "./scene.ts";
import { claimFinding } from "./rules/claim.ts";
import { poolFinding } from "./rules/pool.ts";
import { sandboxFinding } from "./rules/sandbox.ts";
import { templateFinding } from "./rules/template.ts";

/**
 * Finds the root cause, not the symptom. It accepts incomplete facts and never throws.
 *
 * | subject | checks |
 * |---|---|
 * | claim | itself, its pool, the template, its Sandbox, the Sandbox's Pod and what the Pod needs |
 * | pool | itself, its template, its worst member as a Sandbox |
 * | template | itself, its NetworkPolicy |
 * | Sandbox | itself, its children, its Pod and what the Pod needs |
 */
export function why(facts: Facts, now: Date): Finding {
  const likely = causeOf(facts, now);
  const { path, isGuess, ...found } = withoutPods(facts, likely, now) ?? likely;
  const evidence = isGuess ? [...found.evidence, ...unreadEvidence(facts)] : found.evidence;
  const isOk = found.code === "Ready";
  return { ...found, evidence, isOk, chain: chainOf(facts.subject, path, found.object) };
}

function causeOf(facts: Facts, now: Date): Cause {
  const { subject, claim, pool, sandbox, template } = facts;
  if (subject.kind === "SandboxClaim" && claim) return claimFinding(facts, claim, now);
  if (subject.kind === "SandboxWarmPool" && pool) return poolFinding(facts, pool, now);
  if (subject.kind === "SandboxTemplate" && template) return templateFinding(facts, template, now);
  if (subject.kind === "Sandbox" && sandbox) return sandboxFinding(facts, sandbox, now);
  const read =
    { SandboxClaim: claim, SandboxWarmPool: pool, Sandbox: sandbox, SandboxTemplate: template }[subject.kind];
  return read === null ? notFound(subject) : unread(subject, facts);
}

const PLURALS = {
  Sandbox: "sandboxes",
  SandboxClaim: "sandboxclaims",
  SandboxWarmPool: "sandboxwarmpools",
  SandboxTemplate: "sandboxtemplates",
} as const;

function notFound(subject: Subject): Cause {
  const { namespace } = subject;
  return cause("NotFound", {
    object: subject,
    summary: `${named(subject)} does not exist in namespace "${namespace}".`,
    evidence: [{ object: subject, where: "metadata.name", text: "the API server has no such object" }],
    remedy: `Check name and namespace: kubectl get ${PLURALS[subject.kind]} -A.`,
  });
}

function unread(subject: Subject, facts: Facts): Cause {
  const told = unreadEvidence(facts);
  return cause("NotReady", {
    object: subject,
    summary: `${named(subject)} could not be read.`,
    evidence: told.length > 0 ? told : [{ object: subject, where: "metadata.name", text: "nobody has read it" }],
    remedy: `Ask for the right to get ${PLURALS[subject.kind]} in namespace "${subject.namespace}".`,
  });
}

/** After this many seconds, a Sandbox that starts normally is Ready; a Pod that is not shows the cause. */
const STARTING_SECONDS = 60;

/** Nothing shows the cause, and the caller may not read the Pod, which would. */
function withoutPods({ subject, claim, sandbox, unreadable = [] }: Facts, found: Cause, now: Date): Cause | undefined {
  const refusal = unreadable.find(({ what, message }) => what === "pods" && lackedRight(message) !== undefined);
  const isUnknown = found.code === "Starting" || found.code === "NotReady";
  const { creationTimestamp } = (claim ?? sandbox)?.metadata ?? {};
  if (!refusal || !isUnknown || secondsSince(creationTimestamp, now) < STARTING_SECONDS) return undefined;
  const { namespace } = subject;
  const { code: _, ...evident } = found;
  return cause("PodsForbidden", {
    ...evident,
    summary: `Cannot tell why ${named(subject)} is not ready: you may not read Pods in namespace "${namespace}".`,
    remedy: `Ask for the right to get pods in namespace "${namespace}". ClusterRole hookbox-view has it: ` +
      `kubectl create rolebinding NAME --clusterrole=hookbox-view --user=YOU -n ${namespace}.`,
    hopeless: false,
  });
}

function unreadEvidence({ unreadable = [], subject }: Facts): Evidence[] {
  return unreadable.map(({ what, message }) => ({ object: subject, where: `cannot read ${what}`, text: message }));
}

/** Returns the subject, the objects on the path, and the object that causes the problem, each once. */
function chainOf(subject: ObjectRef, path: ObjectRef[], culprit: ObjectRef): ObjectRef[] {
  const { kind, namespace, name } = subject;
  const chain: ObjectRef[] = [{ kind, ...(namespace === undefined ? {} : { namespace }), name }];
  for (const ref of [...path, culprit]) if (!chain.some((known) => isSame(known, ref))) chain.push(ref);
  return chain;
}
