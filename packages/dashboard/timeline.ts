/** Lists what happened to a sandbox, and when, from the objects that belong to it. Pure. @module */
import type { Condition } from "../api/objects/conditions.ts";
import { ASSIGNED_AT_ANNOTATION } from "../api/objects/keys.ts";
import type { KubeObject } from "../api/objects/objects.ts";
import { ACTIVE_ANNOTATION, FIRST_ACTIVE_ANNOTATION, WOKEN_AT_ANNOTATION } from "../api/router/protocol.ts";
import type { EventFact } from "../api/diagnosis/facts.ts";

/** One event in the history of a sandbox. */
export interface Moment {
  /** In RFC 3339. */
  at: string;
  what: string;
  /** Text from the object that reports the event; absent: there is none. */
  detail?: string;
  isTrouble?: boolean;
}

/** The objects of a sandbox; undefined: there is none, or it is not known. */
interface SandboxObjects {
  claim?: KubeObject | undefined;
  sandbox?: KubeObject | undefined;
  pod?: KubeObject | undefined;
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
export function timelineOf({ claim, sandbox, pod, events }: SandboxObjects): Moment[] {
  const { annotations = {}, creationTimestamp: created } = sandbox?.metadata ?? {};
  const oldest = Date.parse(created ?? "") - REQUEST_MS;
  /** Ignores annotations older than the Sandbox: they were copied from another Sandbox. */
  const own = (at: string | undefined) => Date.parse(at ?? "") < oldest ? undefined : at;
  const moments: (Moment | undefined)[] = [
    moment(created, "Sandbox created"),
    moment(claim?.metadata.creationTimestamp, "Claimed", claim?.metadata.name),
    moment(own(annotations[ASSIGNED_AT_ANNOTATION]), "Assigned to claim"),
    moment(own(annotations[WOKEN_AT_ANNOTATION]), "Woken", "by a request"),
    moment(own(annotations[FIRST_ACTIVE_ANNOTATION]), "First request"),
    // After a space comes the router that saw the request.
    moment(own(annotations[ACTIVE_ANNOTATION]?.split(" ")[0]), "Last request"),
    moment(pod?.metadata.creationTimestamp, "Pod created"),
    ...podMoments(pod),
    ...conditionsOf(sandbox).flatMap(({ type, status, reason, message, lastTransitionTime }) => {
      if (type === "Ready" && status === "True") return moment(lastTransitionTime, "Ready");
      if (type === "Suspended" && status === "True") return moment(lastTransitionTime, "Suspended", message);
      if (type === "Finished" && status === "True") return moment(lastTransitionTime, "Finished", reason);
      return undefined;
    }),
    ...events.map(({ reason, message, last, first }): Moment | undefined => {
      const at = last ?? first;
      return at === undefined
        ? undefined
        : { at, what: reason, detail: message, isTrouble: /^Fail|Err|BackOff/.test(reason) };
    }),
  ];
  return moments.filter((one) => one !== undefined).sort((a, b) => Date.parse(a.at) - Date.parse(b.at));
}

function podMoments(pod: KubeObject | undefined): (Moment | undefined)[] {
  const { conditions = [], containerStatuses = [] } = (pod?.["status"] ?? {}) as PodStatus;
  return [
    ...conditions.map(({ type, status, lastTransitionTime }) =>
      status === "True" && Object.hasOwn(POD_MOMENTS, type)
        ? moment(lastTransitionTime, POD_MOMENTS[type] ?? "")
        : undefined
    ),
    ...containerStatuses.map(({ name, state }) => moment(state?.running?.startedAt, "Container started", name)),
  ];
}

function conditionsOf(object: KubeObject | undefined): Condition[] {
  return (object?.["status"] as { conditions?: Condition[] } | undefined)?.conditions ?? [];
}

function moment(at: string | undefined, what: string, detail?: string): Moment | undefined {
  return at === undefined ? undefined : { at, what, ...(detail ? { detail } : {}) };
}
