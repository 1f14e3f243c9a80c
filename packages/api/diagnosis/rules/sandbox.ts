/**
 * Finds the root cause of a Sandbox's state. Rules about the Sandbox come first, then rules about its Pod, in order of
 * precedence. @module
 */
import { findCondition } from "../../objects/conditions.ts";
import { NAME_HASH_LABEL, TEMPLATE_REF_ANNOTATION } from "../../objects/keys.ts";
import { controllerOf } from "../../objects/objects.ts";
import type { Sandbox } from "../../sandbox.ts";
import type { Code } from "../catalogue.ts";
import type { Facts, PodFact } from "../facts.ts";
import { type Cause, cause, type Evidence } from "../finding.ts";
import { sandboxCause } from "../sandboxcause.ts";
import { evidenceOf, refOf, type Scene, secondsSince } from "../scene.ts";
import { beingDeleted, hookFailing, notReconciled } from "./anykind.ts";
import { crash, isCrashLooping, probe, readinessGate } from "./containers.ts";
import { image, imageCode, nodeNotReady, podSandbox, terminating } from "./node.ts";
import { ended, expired, multiplePods, podLost, suspended } from "./lifecycle.ts";
import { containerConfig, mounts, volumes } from "./references.ts";
import { podTaken, refused, stuck } from "./refused.ts";
import { gated, unschedulable } from "./scheduling.ts";

/** After this many seconds, a Sandbox no longer counts as starting: it is not Ready for some reason. */
const STARTING_SECONDS = 60;

const stuckChild = (scene: Scene) => stuck(scene, scene.sandbox.metadata);
const BEFORE_THE_POD = [deleting, expired, stuckChild, suspended, ready, multiplePods, ended, refused, podTaken];
const OF_THE_POD = [
  terminating,
  gated,
  volumes,
  unschedulable,
  nodeNotReady,
  image,
  containerConfig,
  crash,
  mounts,
  podSandbox,
  probe,
  readinessGate,
];
const AFTER_THE_POD = [podLost, byConditions, failing, podUnread, notReady];

/** Returns the cause of the Sandbox's state. There always is one: if no rule finds another, the Sandbox is starting. */
export function sandboxFinding(facts: Facts, sandbox: Sandbox, now: Date): Cause {
  const scene = sceneOf(facts, sandbox, now);
  const found = first(BEFORE_THE_POD, scene) ?? podCause(scene) ?? first(AFTER_THE_POD, scene) ?? starting(scene);
  return { ...found, path: [scene.at, ...found.path] };
}

function podCause(scene: Scene): Cause | undefined {
  const { pod } = scene;
  if (!pod) return undefined;
  const podRef = refOf("Pod", pod.metadata);
  const found = first(OF_THE_POD, { ...scene, pod, podRef });
  return found && { ...found, path: [podRef, ...found.path] };
}

function first<S>(rules: ((scene: S) => Cause | undefined)[], scene: S): Cause | undefined {
  for (const rule of rules) {
    const found = rule(scene);
    if (found) return found;
  }
  return undefined;
}

function sceneOf(facts: Facts, sandbox: Sandbox, now: Date): Scene {
  const { metadata } = sandbox;
  const at = refOf("Sandbox", metadata);
  const template = metadata.annotations?.[TEMPLATE_REF_ANNOTATION];
  const blueprint = template === undefined ? at : { ...at, kind: "SandboxTemplate", name: template };
  return { facts, now, sandbox, at, blueprint, pod: ownPod(sandbox, facts.pod) };
}

/**
 * Returns the Sandbox's own Pod. A Pod without a controller counts if it has the name label: the Sandbox may be about
 * to adopt it.
 */
function ownPod({ metadata: { uid } }: Sandbox, pod: PodFact | null | undefined): PodFact | undefined {
  if (!pod) return undefined;
  const owner = controllerOf(pod.metadata);
  const isOurs = owner ? owner.uid === uid : pod.metadata.labels?.[NAME_HASH_LABEL] !== undefined;
  return isOurs ? pod : undefined;
}

function deleting({ sandbox, at }: Scene): Cause | undefined {
  return beingDeleted(sandbox.metadata, at);
}

/** The Sandbox is Ready, and not only for the moment between two crashes. */
function ready({ sandbox, at, facts: { subject }, pod, now }: Scene): Cause | undefined {
  if (pod && isCrashLooping(pod, now)) return undefined;
  const { conditions, observedGeneration } = sandbox.status ?? {};
  const condition = findCondition(conditions, "Ready");
  const { generation } = sandbox.metadata;
  if (condition?.status !== "True" || (observedGeneration ?? generation ?? 0) < (generation ?? 0)) return undefined;
  return cause("Ready", {
    object: subject,
    summary: `Sandbox "${at.name}" is Ready.`,
    evidence: evidenceOf(at, conditions, "Ready"),
    since: condition.lastTransitionTime,
  });
}

function failing({ sandbox, at, facts, now }: Scene): Cause | undefined {
  return hookFailing(sandbox, at, facts, now);
}

/**
 * The hook writes no status for a young Sandbox that waits for its Pod. If the Pod exists, the hook has seen the
 * Sandbox.
 */
function podUnread({ sandbox, at, pod, now }: Scene): Cause | undefined {
  return pod && !sandbox.status?.conditions ? undefined : notReconciled(sandbox, at, now);
}

function notReady(scene: Scene): Cause | undefined {
  const { sandbox, at, now } = scene;
  const condition = findCondition(sandbox.status?.conditions, "Ready");
  const since = condition?.lastTransitionTime ?? sandbox.metadata.creationTimestamp;
  if (secondsSince(since, now) < STARTING_SECONDS) return undefined;
  return cause("NotReady", {
    object: at,
    summary: `Sandbox "${at.name}" is not Ready, and nothing that could be read says why: ` +
      `${condition?.message || "it has no condition Ready"}`,
    evidence: known(scene),
    since,
    isGuess: true,
  });
}

function starting(scene: Scene): Cause {
  const { sandbox, at } = scene;
  const condition = findCondition(sandbox.status?.conditions, "Ready");
  return cause("Starting", {
    object: at,
    summary: `Sandbox "${at.name}" is starting: ${condition?.message ?? "it has no status yet"}.`,
    evidence: known(scene),
    since: sandbox.metadata.creationTimestamp,
    isGuess: true,
  });
}

/** Returns all evidence about a Sandbox that is not Ready; it is never empty. */
function known(scene: Scene): Evidence[] {
  const { at, sandbox } = scene;
  const told = [...evidenceOf(at, sandbox.status?.conditions, "Ready"), ...podEvidence(scene)];
  return told.length > 0 ? told : [{ object: at, where: "status.conditions", text: "there is no condition Ready" }];
}

function podEvidence({ at, pod, facts }: Scene): Evidence[] {
  const object = { ...at, kind: "Pod" };
  if (pod) return [{ object, where: "status.phase", text: pod.status?.phase ?? "none" }];
  return facts.pod === null ? [{ object, where: "metadata.name", text: "there is no such Pod" }] : [];
}

/** The Pod could not be read, and the Sandbox's conditions show a cause. */
function byConditions({ sandbox, at, pod }: Scene): Cause | undefined {
  const found = pod ? undefined : sandboxCause(sandbox);
  const conditions = sandbox.status?.conditions;
  const type = found?.reason === "Unschedulable" || found?.reason === "SchedulingGated"
    ? "PodScheduled"
    : "ContainersFailing";
  const condition = findCondition(conditions, type);
  if (!found || !condition) return undefined;
  return cause(codeOf(condition.reason, found.detail), {
    object: { ...at, kind: "Pod" },
    summary: `Pod "${at.name}" does not start: ${found.detail}`,
    evidence: evidenceOf(at, conditions, type),
    since: condition.lastTransitionTime,
    isGuess: true,
  });
}

function codeOf(reason: string, message: string): Code {
  const codes: Record<string, Code> = {
    SchedulingGated: "SchedulingGated",
    Unschedulable: "Unschedulable",
    ContainerCreationFailed: "ContainerConfigInvalid",
    ContainerCrashing: "CrashLoop",
  };
  return codes[reason] ?? imageCode(message);
}
