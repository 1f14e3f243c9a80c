/** The status of a Sandbox, from what is observed and nothing else. Metacontroller adds observedGeneration. @module */
import type { SandboxStatus } from "../../api/sandbox.ts";
import { sameJson } from "../../lib/apply.ts";
import { type Condition, findCondition, stamp, type Verdict } from "../../lib/conditions.ts";
import { NAME_HASH_LABEL } from "../../lib/keys.ts";
import { nameHash } from "../../lib/names.ts";
import { podIPs } from "../../lib/pods.ts";
import { containersFailingVerdict } from "./containersfailing.ts";
import type { ExpiryPhase } from "./expiry.ts";
import { finishedVerdict, podScheduledVerdict, suspendedVerdict } from "./podconditions.ts";
import { readyVerdict } from "./readiness.ts";
import { isPodTaken, type View } from "./view.ts";

const OUR_TYPES = new Set(["ContainersFailing", "Finished", "PodScheduled", "Ready", "Suspended"]);
const EXPIRED: Verdict = { type: "Ready", status: "False", reason: "SandboxExpired", message: "Sandbox has expired" };

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
export function computeStatus(view: View, expiry: ExpiryPhase, clusterDomain: string, now: Date): SandboxStatus {
  const { sandbox } = view;
  if (expiry === "published") {
    return sandbox.spec.shutdownPolicy === "Delete" ? { ...sandbox.status } : retainedStatus(view, now);
  }
  const verdicts = [
    containersFailingVerdict(view),
    finishedVerdict(view),
    expiry === "none" ? podScheduledVerdict(view) : undefined,
    expiry === "none" ? readyVerdict(view) : EXPIRED,
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
  const kept = [findCondition(old, "Finished"), stamped(view, EXPIRED, now), findCondition(old, "Suspended")];
  return { conditions: [...kept.filter((condition) => condition !== undefined), ...foreignConditions(view)] };
}

function stamped({ sandbox }: View, verdict: Verdict, now: Date): Condition {
  return stamp(verdict, sandbox.status?.conditions, sandbox.metadata.generation, now);
}

/** Conditions of other writers: our write replaces the list, so they are carried along. */
function foreignConditions({ sandbox }: View): Condition[] {
  return (sandbox.status?.conditions ?? []).filter(({ type }) => !OUR_TYPES.has(type));
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
