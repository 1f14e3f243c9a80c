/** Lists what happened to an object and to those that belong to it, and when. Pure. @module */
import type { Condition } from "../api/objects/conditions.ts";
import { ASSIGNED_AT_ANNOTATION } from "../api/objects/keys.ts";
import type { KubeObject, ObjectMeta } from "../api/objects/objects.ts";
import { ACTIVE_ANNOTATION, FIRST_ACTIVE_ANNOTATION, WOKEN_AT_ANNOTATION } from "../api/router/protocol.ts";
import type { EventFact } from "../api/diagnosis/facts.ts";

/** One event in the history of an object. */
export interface Moment {
  /** In RFC 3339. */
  at: string;
  what: string;
  /** Kind of the object that it happened to, such as `Pod`. */
  kind: string;
  /** Text from the object that reports the event; absent: there is none. */
  detail?: string;
  /** A failure that may still matter. */
  isTrouble?: boolean;
}

interface Observed {
  metadata: ObjectMeta;
  status?: unknown;
}

/** The objects of a timeline; undefined: there is none, or it is not known. */
interface TimelineObjects {
  claim?: Observed | undefined;
  sandbox?: Observed | undefined;
  pod?: Observed | undefined;
  /** A pool or a template. */
  other?: KubeObject | undefined;
  /** Events about objects with the same names; those about other objects are left out. */
  events: readonly EventFact[];
}

interface PodStatus {
  conditions?: Condition[];
  containerStatuses?: { name: string; state?: { running?: { startedAt?: string } } }[];
}

const POD_MOMENTS: Record<string, string> = {
  PodScheduled: "Pod scheduled",
  PodReadyToStartContainers: "Network and volumes ready",
  Ready: "Pod ready",
};

/**
 * A Sandbox for a claim may be assigned this long before its creation time, which the API server sets, in milliseconds.
 */
const REQUEST_MS = 5000;

/** Lists the events, oldest first. */
export function timelineOf(objects: TimelineObjects): Moment[] {
  const { claim, sandbox, pod, other } = objects;
  const { annotations = {}, creationTimestamp: created } = sandbox?.metadata ?? {};
  const oldest = Date.parse(created ?? "") - REQUEST_MS;
  const ready = conditionsOf(sandbox?.status).find(({ type }) => type === "Ready");
  /** What happened before the Sandbox became Ready is no trouble any more. */
  const isPast = ({ at }: Moment) => ready?.status === "True" && Date.parse(at) <= Date.parse(ready.lastTransitionTime);
  /** Ignores annotations older than the Sandbox: they were copied from another Sandbox. */
  const own = (at: string | undefined) => Date.parse(at ?? "") < oldest ? undefined : at;
  const moments: (Moment | undefined)[] = [
    moment("Sandbox", created, "Sandbox created"),
    moment("SandboxClaim", claim?.metadata.creationTimestamp, "Claimed", claim?.metadata.name),
    moment(other?.kind ?? "", other?.metadata.creationTimestamp, "Created"),
    moment("Sandbox", own(annotations[ASSIGNED_AT_ANNOTATION]), "Assigned to claim"),
    moment("Sandbox", own(annotations[WOKEN_AT_ANNOTATION]), "Woken", "by a request"),
    moment("Sandbox", own(annotations[FIRST_ACTIVE_ANNOTATION]), "First request"),
    // After a space comes the router that saw the request.
    moment("Sandbox", own(annotations[ACTIVE_ANNOTATION]?.split(" ")[0]), "Last request"),
    moment("Pod", pod?.metadata.creationTimestamp, "Pod created"),
    ...podMoments(pod?.status as PodStatus | undefined),
    ...conditionsOf(sandbox?.status).flatMap(({ type, status, reason, message, lastTransitionTime: at }) => {
      if (type === "Ready" && status === "True") return moment("Sandbox", at, "Ready");
      if (type === "Suspended" && status === "True") return moment("Sandbox", at, "Suspended", message);
      if (type === "Finished" && status === "True") return moment("Sandbox", at, "Finished", reason);
      return undefined;
    }),
    ...objects.events.map((event) => eventMoment(event, objects)),
  ];
  return moments.filter((one) => one !== undefined)
    .map(({ isTrouble, ...one }) => isTrouble && !isPast(one) ? { ...one, isTrouble } : one)
    .sort((a, b) => Date.parse(a.at) - Date.parse(b.at));
}

/** One step on the way to Ready. */
interface Step {
  what: string;
  isDone: boolean;
}

/** Lists the steps from the request to Ready, in order. */
export function stepsOf({ claim, sandbox, pod }: Omit<TimelineObjects, "other" | "events">): Step[] {
  const { conditions = [], containerStatuses = [] } = (pod?.status ?? {}) as PodStatus;
  const has = (type: string) => conditions.some((one) => one.type === type && one.status === "True");
  const started = containerStatuses.length > 0 && containerStatuses.every(({ state }) => state?.running !== undefined);
  const isReady = conditionsOf(sandbox?.status).some(({ type, status }) => type === "Ready" && status === "True");
  const assigned = (claim?.status as { sandbox?: { name?: string } } | undefined)?.sandbox?.name !== undefined;
  return [
    ...claim === undefined ? [] : [{ what: "Sandbox assigned", isDone: assigned }],
    { what: "Pod scheduled", isDone: has("PodScheduled") || started },
    { what: "Containers started", isDone: started },
    { what: "Pod ready", isDone: has("Ready") },
    { what: "Ready", isDone: isReady && (claim === undefined || assigned) },
  ];
}

/** Returns undefined for an Event of another object: one of another kind, or an earlier one of the same name. */
function eventMoment(event: EventFact, { claim, sandbox, pod, other }: TimelineObjects): Moment | undefined {
  const { object: { kind, name }, uid, reason, message, last, first } = event;
  const at = last ?? first;
  const found = [["SandboxClaim", claim], ["Sandbox", sandbox], ["Pod", pod], [other?.kind, other]] as const;
  const known = found.find(([one, object]) => one === kind && object)?.[1]?.metadata;
  const isKnown = known !== undefined && known.name === name && (uid === undefined || uid === known.uid);
  // A Sandbox gets a new Pod of the same name when it is resumed; Pods from before the Sandbox belonged to another one.
  const { name: sandboxName, creationTimestamp: since = "" } = sandbox?.metadata ?? {};
  const isEarlierPod = kind === "Pod" && !isKnown && sandbox !== undefined &&
    [sandboxName, pod?.metadata.name].includes(name) && Date.parse(first ?? at ?? "") >= Date.parse(since);
  if (at === undefined || !(isKnown || isEarlierPod)) return undefined;
  const isTrouble = /^Fail|Err|BackOff|Unhealthy|Evict/.test(reason);
  const isOld = isEarlierPod && pod !== undefined;
  return { at, what: reason, kind: isOld ? "earlier Pod" : kind, detail: message, ...isTrouble ? { isTrouble } : {} };
}

function podMoments({ conditions = [], containerStatuses = [] }: PodStatus = {}): (Moment | undefined)[] {
  return [
    ...conditions.map(({ type, status, lastTransitionTime }) =>
      status === "True" && Object.hasOwn(POD_MOMENTS, type)
        ? moment("Pod", lastTransitionTime, POD_MOMENTS[type] ?? "")
        : undefined
    ),
    ...containerStatuses.map(({ name, state }) => moment("Pod", state?.running?.startedAt, "Container started", name)),
  ];
}

function conditionsOf(status: unknown): Condition[] {
  return (status as { conditions?: Condition[] } | undefined)?.conditions ?? [];
}

function moment(kind: string, at: string | undefined, what: string, detail?: string): Moment | undefined {
  return at === undefined ? undefined : { at, what, kind, ...(detail ? { detail } : {}) };
}
