/** Where a rule stands: one Sandbox with what was read around it, and how evidence is written down. Pure. @module */
import type { Sandbox } from "../sandbox.ts";
import { type Condition, findCondition } from "../objects/conditions.ts";
import type { ObjectMeta } from "../objects/objects.ts";
import type { EventFact, Facts } from "./facts.ts";
import type { Evidence, ObjectRef } from "./finding.ts";
import type { PodFact } from "./podfact.ts";

/** What the rules about a Sandbox look at. */
export interface Scene {
  facts: Facts;
  now: Date;
  sandbox: Sandbox;
  /** The Sandbox. */
  at: ObjectRef;
  /** The Sandbox's own Pod; undefined if there is none, or if it was not read. */
  pod: PodFact | undefined;
  /** What to edit so that the next Pod is another: the template, or the Sandbox itself. */
  blueprint: ObjectRef;
}

/** A {@link Scene} with a Pod. */
export interface PodScene extends Scene {
  pod: PodFact;
  /** The Pod. */
  podRef: ObjectRef;
}

/** Names an object by its metadata. */
export function refOf(kind: string, { namespace, name }: Pick<ObjectMeta, "namespace" | "name">): ObjectRef {
  return { kind, ...(namespace === undefined ? {} : { namespace }), name };
}

/** Writes down what a condition says. */
export function conditionEvidence(object: ObjectRef, condition: Condition): Evidence {
  const { type, status, reason, message } = condition;
  return { object, where: `status.conditions[${type}]`, text: `${status} ${reason}: ${message}` };
}

/** Writes down a condition of a list; empty if there is none of the type. */
export function evidenceOf(object: ObjectRef, conditions: readonly Condition[] | undefined, type: string): Evidence[] {
  const condition = findCondition(conditions, type);
  return condition ? [conditionEvidence(object, condition)] : [];
}

/** Writes down an Event. */
export function eventEvidence({ object, reason, message }: EventFact): Evidence {
  return { object, where: `Event ${reason}`, text: message };
}

/** Lists the Events about an object, newest first; one of an earlier object of the name is left out. */
export function eventsOf({ events = [] }: Facts, { kind, name }: ObjectRef, uid: string | undefined): EventFact[] {
  return events
    .filter(({ object, uid: of }) => object.kind === kind && object.name === name && (!of || !uid || of === uid))
    .toSorted((a, b) => timeOf(b.last) - timeOf(a.last));
}

/** Returns a time in milliseconds since the epoch; 0 where there is none. */
export function timeOf(text: string | undefined): number {
  const time = Date.parse(text ?? "");
  return Number.isNaN(time) ? 0 : time;
}

/** Tells for how many seconds something has lasted; 0 if nobody knows. */
export function secondsSince(text: string | undefined, now: Date): number {
  const time = timeOf(text);
  return time === 0 ? 0 : (now.getTime() - time) / 1000;
}
