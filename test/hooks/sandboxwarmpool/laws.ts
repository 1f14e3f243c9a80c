/** What holds for every answer of the SandboxWarmPool hook, whatever the request. @module */
import { type Sandbox, sandboxSchema } from "../../../packages/api/sandbox.ts";
import type { SandboxWarmPool } from "../../../packages/api/sandboxwarmpool.ts";
import { applyUpdate, lastApplied, mergeApply, sameJson } from "../../../packages/api/objects/apply.ts";
import { deletionReasons } from "../../../hooks/sandboxwarmpool/deletionreasons.ts";
import { childRules } from "../../../hooks/sandboxwarmpool/childrules.ts";
import { evidence, statusRules } from "../../../hooks/sandboxwarmpool/statusrules.ts";
import { guardStatus } from "../../../packages/webhook/statusrules.ts";
import { guardAnswer, guardResync } from "../../../packages/webhook/guard.ts";
import { CONFIG } from "../../poolcalls.ts";
import { NOW } from "../../sandboxes.ts";
import {
  childKey,
  compositeAnswerSchema,
  type Desired,
  listKind,
  type Observed,
} from "../../../packages/webhook/metacontroller.ts";
import { controllerOf, type DesiredObject } from "../../../packages/api/objects/objects.ts";

const DRAINING = "agents.x-k8s.io/draining";
type Answer = Desired<unknown>;

/** Lists the laws that an answer breaks, each with what breaks it. */
export function brokenLaws(observed: Observed<SandboxWarmPool>, answer: Answer): string[] {
  const sandboxes = listKind(observed.children, "Sandbox.agents.x-k8s.io/v1beta1", sandboxSchema);
  const { deletions = {}, ...wire } = answer;
  const { sequence = 0 } = observed.parent.status ?? {};
  const isPoolGoing = observed.parent.metadata.deletionTimestamp !== undefined;
  return [
    ...(compositeAnswerSchema.safeParse(wire).error ? ["the answer breaks the protocol"] : []),
    ...refusals(observed, answer, deletions),
    ...(isPoolGoing ? [] : sandboxes.flatMap((sandbox) => brokenBy(sandbox, answer, sequence))),
    ...overfull(observed.parent, sandboxes, answer),
  ];
}

function refusals(
  observed: Observed<SandboxWarmPool>,
  { children, status, resyncAfterSeconds }: Answer,
  deletions: object,
): string[] {
  const verdict = guardAnswer(observed, children, { ...deletions }, NOW, deletionReasons, childRules(CONFIG));
  const refusal = "refusal" in verdict
    ? verdict.refusal
    : guardStatus(observed, status, NOW, evidence, statusRules, children) ??
      guardResync(resyncAfterSeconds);
  return refusal ? [`the guard refuses the answer: ${refusal.message}`] : [];
}

/** @param sequence the number that the status counts on from */
function brokenBy(sandbox: Sandbox, { children, deletions = {} }: Answer, sequence: number): string[] {
  const { name, labels = {}, deletionTimestamp } = sandbox.metadata;
  const desired = children.find((child) => child.metadata.name === name);
  const isMarked = labels[DRAINING] !== undefined;
  const isNamed = deletions[childKey(sandbox)] !== undefined;
  const isCounted = numberOf(sandbox) <= sequence;
  if (deletionTimestamp !== undefined) return desired ? [`${name} is being deleted and described again`] : [];
  if (isMarked && isCounted) return desired || !isNamed ? [`${name} is marked and does not go`] : [];
  if (!desired || isNamed) return [`${name} goes ${isMarked ? "before it is counted" : "without having been marked"}`];
  return brokenStay(sandbox, desired, applyUpdate(sandbox, desired));
}

/** 0: it has none, and its name is never used again. */
function numberOf({ metadata }: Sandbox): number {
  return Number.parseInt(metadata.annotations?.["agents.x-k8s.io/pool-sequence"] ?? "0");
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
    ...(labels[DRAINING] === undefined || written.metadata.labels?.[DRAINING] === labels[DRAINING]
      ? []
      : [`${name} loses its mark`]),
    ...(sameJson(written.spec, sandbox.spec) ? [] : [`${name}'s spec changes`]),
  ];
}

/** All that the pool owns counts until it is gone: what is made never brings it beyond what is wanted. */
function overfull({ spec }: SandboxWarmPool, sandboxes: Sandbox[], { children }: Answer): string[] {
  const there = new Set(sandboxes.map(({ metadata }) => metadata.name));
  const made = children.filter(({ metadata }) => !there.has(metadata.name)).length;
  const population = sandboxes.length;
  return made > 0 && population + made > spec.replicas ? [`${population} and ${made} new are too many`] : [];
}
