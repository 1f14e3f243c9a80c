/**
 * Declares for the guard what a Sandbox's status may contain. A claim can end because of the conditions, and its volumes are
 * then deleted. Clients connect to the addresses in the other fields. @module
 */
import type { Sandbox, SandboxStatus } from "../../packages/api/sandbox.ts";
import { lifetimeOf } from "../../packages/api/expiry.ts";
import { sameJson } from "../../packages/api/objects/apply.ts";
import { findCondition, rfc3339 } from "../../packages/api/objects/conditions.ts";
import type { Json } from "../../packages/api/objects/json.ts";
import { NAME_HASH_LABEL, UNRESOLVED_ANNOTATION } from "../../packages/api/objects/keys.ts";
import { nameHash } from "../../packages/api/objects/names.ts";
import { isPodReady, type Pod, podCondition, podEnd, podIPs } from "../../packages/api/objects/pods.ts";
import {
  conditionsOf,
  type ReportedCondition,
  type StatusInvariants,
  type StatusRules,
} from "../../packages/webhook/statusrules.ts";
import type { Observed } from "../../packages/webhook/metacontroller.ts";
import { isExpired } from "./deletionreasons.ts";
import type { SandboxConfig } from "../flags.ts";
import { volumeTemplates } from "./podrules.ts";

type Of = Observed<Sandbox>;
type Said = ReportedCondition<Sandbox>;

/** Conditions that the observed objects must confirm. A Sandbox that has expired or is being deleted may repeat old ones. */
export const evidence: StatusInvariants<Sandbox> = {
  "Finished True": (saying) => (hasEnded(saying) && isTimely(saying)) || isLeftOver(saying),
  "PodScheduled False": (saying) => podsOf(saying).some(isUnscheduled) || isLeftOver(saying),
  "Ready Absent": (saying) => isLeftOver(saying),
  "Ready True": (saying) => (podsOf(saying).length === 1 && podsOf(saying).every(isServing)) || isLeftOver(saying),
  // Pools replace a member that is not Ready for long, and clients give up because of some reasons.
  "Ready False": (saying) => !isSound(saying) || isLeftOver(saying),
  // No hook reports Unknown, and other programs treat it like False.
  "Ready Unknown": (saying) => isLeftOver(saying),
  "Ready False InvalidConfiguration": (saying) => isMissingSomething(saying) || isLeftOver(saying),
  "Ready False PodFailed": (saying) => hasEnded(saying) || isLeftOver(saying),
  "Ready False PodSucceeded": (saying) => hasEnded(saying) || isLeftOver(saying),
  "Ready False SandboxExpired": (saying) => isExpired(saying.observed.parent, saying.now) || isLeftOver(saying),
  "Ready False SandboxSuspended": (saying) => isSuspended(saying) || isLeftOver(saying),
  "Suspended True": (saying) => (isSuspended(saying) && podsOf(saying).length === 0) || isLeftOver(saying),
};

/** Creates the rules of the other fields for one installation. */
export function statusRules({ clusterDomain }: SandboxConfig): StatusRules<Sandbox> {
  /** A Sandbox that has expired or is being deleted may repeat a field, or leave it out. */
  const field = (name: keyof SandboxStatus, isRight: (value: unknown, observed: Of) => boolean) =>
  (
    value: unknown,
    observed: Of,
    now: Date,
    status: Json,
  ) =>
    isRight(value, observed) || Object.keys(status).length === 0 ||
    (isOver(observed, now) && (value === undefined || sameJson(value, observed.parent.status?.[name])));
  return {
    conditionTypes: ["ContainersFailing", "Finished", "PodLost", "PodOutdated", "PodScheduled", "Ready", "Suspended"],
    keepsOthers: true,
    fields: {
      podIPs: field("podIPs", (value, observed) => sameJson(value, addressesOf(observed))),
      nodeName: field(
        "nodeName",
        (value, { parent, children }) =>
          [undefined, parent.status?.nodeName, ...podsIn(children).map(({ spec }) => spec?.nodeName)]
            .includes(value as string | undefined),
      ),
      service: field("service", (value, observed) => value === serviceOf(observed, (name) => name, "service")),
      serviceFQDN: field(
        "serviceFQDN",
        (value, observed) =>
          value ===
            serviceOf(observed, (name, namespace) => `${name}.${namespace}.svc.${clusterDomain}`, "serviceFQDN"),
      ),
      selector: field(
        "selector",
        (value, { parent: { metadata, status } }) =>
          value === undefined ? !status?.selector : value === `${NAME_HASH_LABEL}=${nameHash(metadata.name)}`,
      ),
    },
  };
}

function isOver({ parent }: Of, now: Date): boolean {
  return parent.metadata.deletionTimestamp !== undefined || isExpired(parent, now);
}

function isLeftOver({ isOld, observed, now }: Said): boolean {
  return isOld && isOver(observed, now);
}

function isSuspended({ observed: { parent } }: Said): boolean {
  return parent.spec.operatingMode === "Suspended";
}

function hasEnded(saying: Said): boolean {
  return podsOf(saying).some((pod) => podEnd(pod) !== undefined);
}

/** Tells whether the transition time is right, because the end of a claim is computed from it. */
function isTimely({ said, observed: { parent }, now }: Said): boolean {
  const before = findCondition(conditionsOf(parent), said.type);
  return said.lastTransitionTime === (before?.status === said.status ? before.lastTransitionTime : rfc3339(now));
}

/** Tells whether clients can reach the Pod: it runs, is Ready and has an address. */
function isServing(pod: Pod): boolean {
  return pod.status?.phase === "Running" && isPodReady(pod) && podIPs(pod).length > 0;
}

function isUnscheduled(pod: Pod): boolean {
  return podCondition(pod, "PodScheduled")?.status === "False";
}

/** Tells whether the observed objects show no reason why the Sandbox is not Ready. */
function isSound(saying: Said): boolean {
  const pods = podsOf(saying);
  const isWhole = pods.length === 1 &&
    pods.every((pod) => isServing(pod) && pod.metadata.deletionTimestamp === undefined);
  const { parent } = saying.observed;
  return isWhole && !isSuspended(saying) && !isExpired(parent, saying.now) && !isMissingSomething(saying);
}

/** Tells whether a child is missing, the keeper has reported a problem, or `shutdownTime` is not a valid time. */
function isMissingSomething(saying: Said): boolean {
  const { parent, children } = saying.observed;
  const { metadata, spec } = parent;
  const namesOf = (kind: string) => new Set(Object.values(children[kind] ?? {}).map((child) => child.metadata.name));
  const { shutdownTime } = lifetimeOf(parent);
  const volumes = namesOf("PersistentVolumeClaim.v1");
  return podsOf(saying).length === 0 || metadata.annotations?.[UNRESOLVED_ANNOTATION] !== undefined ||
    (shutdownTime !== undefined && Number.isNaN(Date.parse(shutdownTime))) ||
    (spec.service === true && !namesOf("Service.v1").has(metadata.name)) ||
    volumeTemplates(parent).some(({ claimName }) => !volumes.has(claimName));
}

function podsOf({ observed: { children } }: Said): Pod[] {
  return podsIn(children);
}

function podsIn(children: Of["children"]): Pod[] {
  return Object.values(children["Pod.v1"] ?? {}) as Pod[];
}

/** The addresses of the Sandbox's Pod; none if there are several Pods. */
function addressesOf({ children }: Of): string[] | undefined {
  const [pod, ...more] = podsIn(children);
  const addresses = more.length === 0 ? pod?.status?.podIPs?.map(({ ip }) => ip) ?? [] : [];
  return addresses.length > 0 ? addresses : undefined;
}

function serviceOf(
  { parent: { metadata, spec, status }, children }: Of,
  told: (name: string, namespace: string | undefined) => string,
  field: "service" | "serviceFQDN",
): string | undefined {
  if (podsIn(children).length > 1) return status?.[field] || undefined;
  const { name, namespace } = metadata;
  const isThere = Object.values(children["Service.v1"] ?? {}).some((service) => service.metadata.name === name);
  return isThere && spec.service !== false ? told(name, namespace) : undefined;
}
