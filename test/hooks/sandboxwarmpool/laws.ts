/** What holds for every answer of the SandboxWarmPool hook, whatever the request. @module */
import { type Sandbox, sandboxSchema } from "../../../api/sandbox.ts";
import type { SandboxWarmPool } from "../../../api/sandboxwarmpool.ts";
import { applyUpdate, lastApplied, mergeApply, sameJson } from "../../../lib/apply.ts";
import { guardAnswer } from "../../../lib/guard.ts";
import { childKey, compositeAnswerSchema, type Desired, listKind, type Observed } from "../../../lib/metacontroller.ts";
import { controllerOf, type DesiredObject } from "../../../lib/objects.ts";

const DRAINING = "agents.x-k8s.io/draining";
type Answer = Desired<unknown>;

/** Lists the laws that an answer breaks, each with what breaks it. */
export function brokenLaws(observed: Observed<SandboxWarmPool>, answer: Answer): string[] {
  const sandboxes = listKind(observed.children, "Sandbox.agents.x-k8s.io/v1beta1", sandboxSchema);
  const { deletions = {}, ...wire } = answer;
  const isPoolGoing = observed.parent.metadata.deletionTimestamp !== undefined;
  return [
    ...(compositeAnswerSchema.safeParse(wire).error ? ["the answer breaks the protocol"] : []),
    ...(guardAnswer(observed.children, answer.children, deletions, 0) ? ["the guard refuses the answer"] : []),
    ...(isPoolGoing ? [] : sandboxes.flatMap((sandbox) => brokenBy(sandbox, answer))),
    ...doubles(answer).map((claim) => `claim ${claim} gets two Sandboxes`),
    ...overfull(observed.parent, sandboxes, answer),
  ];
}

function brokenBy(sandbox: Sandbox, { children, deletions = {} }: Answer): string[] {
  const { name, labels = {}, deletionTimestamp } = sandbox.metadata;
  const desired = children.find((child) => child.metadata.name === name);
  const isMarked = labels[DRAINING] !== undefined;
  const isNamed = deletions[childKey(sandbox)] !== undefined;
  if (deletionTimestamp !== undefined) return desired ? [`${name} is being deleted and described again`] : [];
  if (isMarked) return desired || !isNamed ? [`${name} is marked and does not go`] : [];
  if (!desired || isNamed) return [`${name} goes without having been marked`];
  const written = applyUpdate(sandbox, desired);
  const isHanded = desired.metadata.ownerReferences?.some(({ kind }) => kind === "SandboxClaim");
  return isHanded ? brokenSwap(sandbox, written) : brokenStay(sandbox, desired, written);
}

/** A hand-over leaves the claim as the only owner, Metacontroller's marks where they are, and the Pod alone. */
function brokenSwap({ metadata: { name, labels = {} }, spec }: Sandbox, { metadata, spec: after }: Sandbox): string[] {
  const [owner, ...others] = metadata.ownerReferences ?? [];
  const isClaims = others.length === 0 && owner?.kind === "SandboxClaim" && owner.controller === true &&
    metadata.labels?.["agents.x-k8s.io/claim-uid"] === owner.uid;
  const isSeen = metadata.annotations?.["metacontroller.k8s.io/decorator-controller"] === "sandboxclaim";
  return [
    ...(isClaims ? [] : [`${name} is not the claim's alone`]),
    ...(isSeen ? [] : [`${name} is not the claims' decorator's`]),
    ...(metadata.labels?.["controller-uid"] === labels["controller-uid"] ? [] : [`${name} loses controller-uid`]),
    ...(sameJson(after.podTemplate.spec, spec.podTemplate.spec) ? [] : [`${name}'s Pod changes`]),
    ...(metadata.labels?.[DRAINING] === undefined ? [] : [`${name} is handed over and marked`]),
  ];
}

/** Ports that share a number: every answer would change them, until the keeper has silenced it. */
function isTrapped(sandbox: Sandbox): boolean {
  const { spec } = (lastApplied(sandbox) ?? {}) as { spec?: object };
  const observed = { spec: sandbox.spec };
  return !sameJson(mergeApply(observed, { spec }, { spec }), observed);
}

/** What stays is written to only to be marked, or described for the first time; and the pool stays its only controller. */
function brokenStay(sandbox: Sandbox, desired: DesiredObject, written: Sandbox): string[] {
  const { name, labels = {} } = sandbox.metadata;
  if (isTrapped(sandbox)) return [];
  const isMarked = desired.metadata.labels?.[DRAINING] !== labels[DRAINING];
  const applied = lastApplied(sandbox) as unknown as DesiredObject | undefined;
  const isOurs = sameJson(applied?.metadata.ownerReferences, sandbox.metadata.ownerReferences);
  const controllers = written.metadata.ownerReferences?.filter(({ controller }) => controller) ?? [];
  return [
    ...(isMarked || !isOurs || sameJson(written, sandbox) ? [] : [`${name} is written to for nothing`]),
    ...(controllers.length === 1 && sameJson(controllers[0], controllerOf(sandbox.metadata))
      ? []
      : [`${name} changes its owner`]),
    ...(sameJson(written.spec, sandbox.spec) ? [] : [`${name}'s spec changes`]),
  ];
}

function doubles({ children }: Answer): string[] {
  const owners = children.flatMap(({ metadata: { name, ownerReferences = [], annotations = {} } }) => {
    const claim = ownerReferences.find(({ kind }) => kind === "SandboxClaim");
    return claim
      ? [claim.uid]
      : annotations["agents.x-k8s.io/for-claim"] && name
      ? [`${annotations["agents.x-k8s.io/for-claim"]}`]
      : [];
  });
  return owners.filter((uid, index) => owners.indexOf(uid) < index);
}

/** All that is or was a member, until it is gone, and what is made: never more than is wanted because of what is made. */
function overfull({ spec }: SandboxWarmPool, sandboxes: Sandbox[], { children }: Answer): string[] {
  const isMember = ({ metadata }: { metadata: { annotations?: Record<string, string> | undefined } }) =>
    metadata.annotations?.["agents.x-k8s.io/for-claim"] === undefined;
  const there = new Set(sandboxes.map(({ metadata }) => metadata.name));
  const made = children.filter((child) => isMember(child) && !there.has(child.metadata.name)).length;
  const handed = children.filter(({ metadata }) => metadata.ownerReferences?.[0]?.kind === "SandboxClaim");
  const population = sandboxes.filter(isMember).length - handed.filter(isMember).length;
  return made > 0 && population + made > spec.replicas ? [`${population} and ${made} new are too many`] : [];
}
