/**
 * Computes the status of a Sandbox, and decides whether its first status can wait. Most Sandboxes are Ready soon: one
 * status write is then enough instead of two. @module
 */
import type { SandboxStatus } from "../../packages/api/sandbox.ts";
import { lifetimeOf } from "../../packages/api/expiry.ts";
import type { Problem } from "../../packages/api/keeperreports.ts";
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

/** Reports that the Sandbox has expired, and which of its children the API server refuses to delete. */
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
 * | due | Ready is SandboxExpired, PodScheduled is removed | all |
 * | published, policy Retain | Ready; Suspended and Finished unchanged | none |
 * | published, policy Delete | unchanged, because the Sandbox is about to be deleted | unchanged |
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

/**
 * Conditions of other writers. A status write replaces the whole list, so the answer must contain these conditions too.
 */
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

/**
 * The selector is set as soon as a Pod with the Sandbox's name exists, whether it is the Sandbox's own or not. A
 * suspension does not remove it.
 */
function selectorField(view: View): Pick<SandboxStatus, "selector"> {
  const seen = view.pods.length > 0 || isPodTaken(view) || view.sandbox.status?.selector;
  return seen ? { selector: `${NAME_HASH_LABEL}=${nameHash(view.sandbox.metadata.name)}` } : {};
}

/**
 * Removes a new `nodeName` that is the only change. Before the Sandbox is Ready it is not worth a write of its own: the
 * next status write includes it.
 */
function withoutNodeNews(status: SandboxStatus, old: SandboxStatus | undefined): SandboxStatus {
  if (!old || findCondition(status.conditions, "Ready")?.status === "True") return status;
  const { observedGeneration: _, ...before } = old;
  const { nodeName: __, ...rest } = status;
  const held = { ...rest, ...(before.nodeName && { nodeName: before.nodeName }) };
  return sameJson(held, before) ? held : status;
}

/**
 * How long the first status may wait after the creation of the Pod, in milliseconds. Creation times are whole seconds.
 */
const QUIET_MS = 2000;
/**
 * How long it may wait after the creation of the Sandbox, in milliseconds. If many Sandboxes are created at once, the
 * last one gets its Pod only after minutes.
 */
const LONGEST_MS = 300_000;

/**
 * Tells whether the status can stay as the API server has preset it. If not, the hook writes the status now.
 *
 * The status can stay while it would only report that the Pod is starting. Nothing runs when this time is over: the
 * status is written at the next event. If no event comes, the keeper requeues the Sandbox with an annotation
 * (packages/keeper/wake.ts). With this annotation, the status is always written.
 * Metacontroller adds `observedGeneration` to every status. To wait therefore saves a write only if the CRD presets
 * this field. If it does not, the status is written at once.
 */
export function isQuiet({ sandbox, pod }: View, status: SandboxStatus, now: Date): boolean {
  const { creationTimestamp, generation, annotations } = sandbox.metadata;
  const { observedGeneration, ...rest } = sandbox.status ?? {};
  const isPreset = observedGeneration === generation && generation !== undefined && Object.keys(rest).length === 0;
  const isWoken = annotations?.[WOKEN_AT_ANNOTATION] !== undefined;
  return isPreset && !isWoken && isOnItsWay(status) && isYoung(creationTimestamp, LONGEST_MS, now) &&
    (!pod || pod.metadata.deletionTimestamp === undefined && isYoung(pod.metadata.creationTimestamp, QUIET_MS, now));
}

/**
 * Tells whether an object was created less than `longestMs` ago. If this clock is behind the API server's, the answer
 * is no.
 */
function isYoung(creationTimestamp = "", longestMs: number, now: Date): boolean {
  const age = now.getTime() - Date.parse(creationTimestamp);
  return age >= 0 && age < longestMs;
}

/**
 * Tells whether the Sandbox only waits for its Pod to become Ready. If the Pod has an address, it does not count as
 * waiting: such a Sandbox can already serve a claim.
 */
function isOnItsWay({ conditions, podIPs }: SandboxStatus): boolean {
  const isFailing = ["ContainersFailing", "PodLost"].some((type) => findCondition(conditions, type)?.status === "True");
  return findCondition(conditions, "Ready")?.reason === "DependenciesNotReady" && !isFailing && podIPs === undefined;
}
