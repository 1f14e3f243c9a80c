/**
 * The input of a rule: one Sandbox, its Pod with its containers, and the objects around it. Also creates evidence from
 * conditions, Events and containers. @module
 */
import { type Condition, findCondition } from "../objects/conditions.ts";
import type { ObjectMeta } from "../objects/objects.ts";
import type { Sandbox } from "../sandbox.ts";
import type { ContainerFact, EventFact, Facts, PodFact } from "./facts.ts";
import type { Evidence, ObjectRef } from "./finding.ts";

/** The input of the rules about a Sandbox. */
export interface Scene {
  facts: Facts;
  now: Date;
  sandbox: Sandbox;
  /** Reference to the Sandbox. */
  at: ObjectRef;
  /** The Sandbox's own Pod; undefined: there is none, or it was not read. */
  pod: PodFact | undefined;
  /** The object to edit so that the next Pod differs: the template, or the Sandbox itself. */
  blueprint: ObjectRef;
}

/** A {@link Scene} with a Pod. */
export interface PodScene extends Scene {
  pod: PodFact;
  /** Reference to the Pod. */
  podRef: ObjectRef;
}

/** Creates a reference from an object's metadata. */
export function refOf(kind: string, { namespace, name }: Pick<ObjectMeta, "namespace" | "name">): ObjectRef {
  return { kind, ...(namespace === undefined ? {} : { namespace }), name };
}

/** Returns a condition as evidence. */
export function conditionEvidence(object: ObjectRef, condition: Condition): Evidence {
  const { type, status, reason, message } = condition;
  return { object, where: `status.conditions[${type}]`, text: `${status} ${reason}: ${message}` };
}

/** Returns the condition of this type as evidence; empty: the list has none. */
export function evidenceOf(object: ObjectRef, conditions: readonly Condition[] | undefined, type: string): Evidence[] {
  const condition = findCondition(conditions, type);
  return condition ? [conditionEvidence(object, condition)] : [];
}

/** Returns an Event as evidence. */
export function eventEvidence({ object, reason, message }: EventFact): Evidence {
  return { object, where: `Event ${reason}`, text: message };
}

/** Lists the Events about an object, newest first. Events about an earlier object of the same name are left out. */
export function eventsOf({ events = [] }: Facts, { kind, name }: ObjectRef, uid: string | undefined): EventFact[] {
  return events
    .filter(({ object, uid: of }) => object.kind === kind && object.name === name && (!of || !uid || of === uid))
    .toSorted((a, b) => timeOf(b.last) - timeOf(a.last));
}

/** Returns a time in milliseconds since the epoch; 0: absent or not valid. */
export function timeOf(text: string | undefined): number {
  const time = Date.parse(text ?? "");
  return Number.isNaN(time) ? 0 : time;
}

/** Returns the seconds since a time; 0: the time is not known. */
export function secondsSince(text: string | undefined, now: Date): number {
  const time = timeOf(text);
  return time === 0 ? 0 : (now.getTime() - time) / 1000;
}

export interface Container {
  status: ContainerFact;
  /** `container "main"` or `init container "setup"`. */
  title: string;
  /** The field of the Pod's spec that contains the container. */
  field: "containers[]" | "initContainers[]";
  /** Reason and message of a waiting container; empty: it does not wait. */
  reason: string;
  message: string;
}

/** Lists the containers. Init containers come first, because they must end before the others start. */
export function containersOf({ pod }: PodScene): Container[] {
  const of = (statuses: ContainerFact[] = [], title: string, field: Container["field"]): Container[] =>
    statuses.map((status) => ({
      status,
      title: `${title} "${status.name}"`,
      field,
      reason: status.state?.waiting?.reason ?? "",
      message: status.state?.waiting?.message ?? "",
    }));
  return [
    ...of(pod.status?.initContainerStatuses, "init container", "initContainers[]"),
    ...of(pod.status?.containerStatuses, "container", "containers[]"),
  ];
}

/** Returns the reason and message of a waiting container as evidence. */
export function waitingEvidence({ podRef }: PodScene, { status, reason, message }: Container): Evidence {
  const where = `status.containerStatuses[${status.name}].state.waiting`;
  return { object: podRef, where, text: message === "" ? reason : `${reason}: ${message}` };
}
