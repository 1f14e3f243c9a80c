/** The status of a Sandbox, and whether its first one can wait: most are Ready soon, and are written once instead of twice. @module */
import type { SandboxStatus } from "../../packages/api/sandbox.ts";
import { lifetimeOf } from "../../packages/api/expiry.ts";
import type { Problem } from "../../packages/api/unresolved.ts";
import { sameJson } from "../../packages/api/objects/apply.ts";
import {
  type Condition,
  findCondition,
  fitCondition,
  stamp,
  type Verdict,
} from "../../packages/api/objects/conditions.ts";
import { NAME_HASH_LABEL, WOKEN_AT_ANNOTATION } from "../../packages/api/objects/keys.ts";
import { nameHash } from "../../packages/api/objects/names.ts";
import { podIPs } from "../../packages/api/objects/pods.ts";
import type { ExpiryPhase } from "./expiry.ts";
import {
  containersFailingVerdict,
  finishedVerdict,
  podOutdatedVerdict,
  podScheduledVerdict,
  suspendedVerdict,
} from "./podconditions.ts";
import type { PodLosses } from "./podlosses.ts";
import { readyVerdict } from "./readiness.ts";
import { isPodTaken, stuckPod, type View } from "./view.ts";

const OUR_TYPES = new Set([
  "ContainersFailing",
  "Finished",
  "PodLost",
  "PodOutdated",
  "PodScheduled",
  "Ready",
  "Suspended",
]);

/** Says that it has expired, and which of its children the API server refuses to delete. */
function expiredVerdict(view: View): Verdict {
  const isStuck = ({ kind, state }: Problem) => state === "stuck" && (kind !== "Pod" || stuckPod(view) !== undefined);
  const stuck = view.problems.filter(isStuck).map(({ message }) => message);
  const message = ["Sandbox has expired", ...(stuck.length > 0 ? [`Error seen: ${stuck.join("\n")}`] : [])].join(". ");
  return { type: "Ready", status: "False", reason: "SandboxExpired", message };
}

/**
 * Computes the status.
 *
 * | expiry | conditions | other fields |
 * |---|---|---|
 * | none | all that apply | all |
 * | due | Ready is SandboxExpired, PodScheduled is gone | all |
 * | published, policy Retain | Ready, and Suspended and Finished as they were | none |
 * | published, policy Delete | as they were: the object is about to go | as they were |
 */
export function computeStatus(
  view: View,
  expiry: ExpiryPhase,
  clusterDomain: string,
  now: Date,
  losses?: PodLosses,
): SandboxStatus {
  const { sandbox } = view;
  if (expiry === "published") {
    return lifetimeOf(sandbox).shutdownPolicy === "Delete" ? { ...sandbox.status } : retainedStatus(view, now);
  }
  const verdicts = [
    containersFailingVerdict(view),
    finishedVerdict(view),
    losses?.verdict,
    expiry === "none" ? podOutdatedVerdict(view) : undefined,
    expiry === "none" ? podScheduledVerdict(view) : undefined,
    expiry === "none" ? readyVerdict(view) : expiredVerdict(view),
    suspendedVerdict(view),
  ].filter((verdict) => verdict !== undefined);
  const status: SandboxStatus = {
    conditions: [...verdicts.map((verdict) => stamped(view, verdict, now)), ...foreignConditions(view)],
    ...serviceFields(view, clusterDomain),
    ...podFields(view),
    ...selectorField(view),
  };
  return withoutNodeNews(status, sandbox.status);
}

function retainedStatus(view: View, now: Date): SandboxStatus {
  const old = view.sandbox.status?.conditions;
  const kept = [
    findCondition(old, "Finished"),
    stamped(view, expiredVerdict(view), now),
    findCondition(old, "Suspended"),
  ];
  return { conditions: [...kept.filter((condition) => condition !== undefined), ...foreignConditions(view)] };
}

function stamped({ sandbox }: View, verdict: Verdict, now: Date): Condition {
  return stamp(verdict, sandbox.status?.conditions, sandbox.metadata.generation, now);
}

/** Conditions of other writers: our write replaces the list, so they are carried along. */
function foreignConditions({ sandbox }: View): Condition[] {
  return (sandbox.status?.conditions ?? []).filter(({ type }) => !OUR_TYPES.has(type)).map(fitCondition);
}

function serviceFields(view: View, clusterDomain: string): Pick<SandboxStatus, "service" | "serviceFQDN"> {
  const { sandbox, service, pods } = view;
  const { name, namespace } = sandbox.metadata;
  if (pods.length > 1) {
    const { service: oldName, serviceFQDN } = sandbox.status ?? {};
    return { ...(oldName && { service: oldName }), ...(serviceFQDN && { serviceFQDN }) };
  }
  if (!service || sandbox.spec.service === false) return {};
  return { service: name, serviceFQDN: `${name}.${namespace}.svc.${clusterDomain}` };
}

function podFields({ pod }: View): Pick<SandboxStatus, "podIPs" | "nodeName"> {
  if (!pod) return {};
  const addresses = podIPs(pod);
  const nodeName = pod.spec?.nodeName;
  return { ...(addresses.length > 0 && { podIPs: addresses }), ...(nodeName && { nodeName }) };
}

/** Set once a Pod of our name was seen, whoever's it is, and never cleared by suspension. */
function selectorField(view: View): Pick<SandboxStatus, "selector"> {
  const seen = view.pods.length > 0 || isPodTaken(view) || view.sandbox.status?.selector;
  return seen ? { selector: `${NAME_HASH_LABEL}=${nameHash(view.sandbox.metadata.name)}` } : {};
}

/** A node's name alone is not worth a write before the sandbox is ready: it rides with the next change. */
function withoutNodeNews(status: SandboxStatus, old: SandboxStatus | undefined): SandboxStatus {
  if (!old || findCondition(status.conditions, "Ready")?.status === "True") return status;
  const { observedGeneration: _, ...before } = old;
  const { nodeName: __, ...rest } = status;
  const held = { ...rest, ...(before.nodeName && { nodeName: before.nodeName }) };
  return sameJson(held, before) ? held : status;
}

/** Longest silence after the creation of the Pod, in milliseconds; creation times are whole seconds. */
const QUIET_MS = 2000;
/** Longest silence after the Sandbox's own: where many are created at once, it takes minutes until the last gets its Pod. */
const LONGEST_MS = 300_000;

/**
 * Tells whether the status may stay as the API server has preset it; else it is to be written now.
 *
 * When that changes nothing happens by itself: the next event brings the status, and where none comes the keeper wakes the
 * Sandbox (packages/keeper/wake.ts). It may stay while it would say no more than that the Pod is on its way. A Sandbox
 * that the keeper has woken has no Pod on its way.
 * Metacontroller adds `observedGeneration` to every status, so that keeping quiet costs no write only where the CRD
 * presets that field: elsewhere this is never so.
 */
export function isQuiet({ sandbox, pod }: View, status: SandboxStatus, now: Date): boolean {
  const { creationTimestamp, generation, annotations } = sandbox.metadata;
  const { observedGeneration, ...rest } = sandbox.status ?? {};
  const isPreset = observedGeneration === generation && generation !== undefined && Object.keys(rest).length === 0;
  const isWoken = annotations?.[WOKEN_AT_ANNOTATION] !== undefined;
  return isPreset && !isWoken && isOnItsWay(status) && isYoung(creationTimestamp, LONGEST_MS, now) &&
    (!pod || pod.metadata.deletionTimestamp === undefined && isYoung(pod.metadata.creationTimestamp, QUIET_MS, now));
}

/** Tells whether something was made a moment ago: never where the clock is behind the API server's. */
function isYoung(creationTimestamp = "", longestMs: number, now: Date): boolean {
  const age = now.getTime() - Date.parse(creationTimestamp);
  return age >= 0 && age < longestMs;
}

/** A Pod with an address can serve a claim that waits; everything but a Pod that is not Ready yet is news. */
function isOnItsWay({ conditions, podIPs }: SandboxStatus): boolean {
  const isFailing = ["ContainersFailing", "PodLost"].some((type) => findCondition(conditions, type)?.status === "True");
  return findCondition(conditions, "Ready")?.reason === "DependenciesNotReady" && !isFailing && podIPs === undefined;
}
