/** Creates a reconciler that checks an object repeatedly while its status requires it. @module */
import type { ObjectMeta } from "../api/objects/objects.ts";
import type { Reconciler } from "../kube/reconcilequeue.ts";
import { type Clock, systemClock } from "../process/clock.ts";

/** What the keeper does to objects. */
export type Action =
  | "deleted"
  | "deletion put off"
  | "adopted"
  | "annotated"
  | "annotation removed"
  | "spec left out of last-applied";

/** Records an action on an object or on one of its children. */
export type Report = (action: Action, parent: ObjectMeta, details: Record<string, unknown>) => void;

/** Intervals between checks, in milliseconds. */
export interface Intervals {
  /** How long a state must last before the first check; doubled for each further check. */
  settle: number;
  /** Longest interval while there is a problem. */
  problem: number;
  /** Longest interval while there is no problem: other controllers are at work, and the status will change. */
  calm: number;
}

export const INTERVALS: Intervals = { settle: 1000, problem: 30_000, calm: 300_000 };

/** The planned check of an object; `at` (milliseconds since the epoch) is Infinity if no further check is needed. */
export interface Look {
  /** Key of the situation; a new situation begins a new plan. */
  situation: string;
  at: number;
  wait: number;
}

/**
 * The result of a check.
 *
 * | outcome | meaning | next check |
 * |---|---|---|
 * | `problem` | something prevents a child, or the report could not be written | after 1, 2, 4 … 30 s |
 * | `coming` | nothing prevents the missing children | after 1, 2, 4 … 300 s |
 * | `whole` | all children are ours | after 300 s |
 * | `nothing` | suspended, and no Pod exists | never |
 */
export type Outcome = "problem" | "coming" | "whole" | "nothing";

/** The reason for a check; another `key` begins a new plan. `leftover`: only remains of an earlier state are to be removed. */
export interface Situation {
  key: string;
  kind: "look" | "leftover";
  /** The earliest time of the first check, in milliseconds since the epoch. */
  notBefore?: number;
}

/** Returns the next check in this situation: the one already planned, or else one after the state has settled. */
export function plannedLook(before: Look | undefined, situation: Situation, now: number, intervals: Intervals): Look {
  const { key, kind, notBefore = 0 } = situation;
  if (before?.situation === key) return before;
  return {
    situation: key,
    at: Math.max(notBefore, kind === "leftover" ? now : now + intervals.settle),
    wait: intervals.settle,
  };
}

/** Returns the plan for the check after the one that has just been done. */
export function requeue(before: Look, outcome: Outcome, now: number, intervals: Intervals): Look {
  if (outcome === "nothing") return { ...before, at: Infinity };
  if (outcome === "whole") return { ...before, at: now + intervals.calm };
  const longest = outcome === "problem" ? intervals.problem : intervals.calm;
  const wait = Math.min(before.wait, longest);
  return { ...before, at: now + wait, wait: wait * 2 };
}

/** What a checking reconciler consists of. */
export interface Looking<T, S extends Situation> {
  name: string;
  intervals: Intervals;
  /** @default {systemClock} */
  clock?: Clock | undefined;
  /** Returns the reason for a check; undefined: there is none. Called at every event. */
  situationOf(object: T, now: number): S | undefined;
  /** Checks the object and acts on the result. @throws to be tried again, with back-off */
  look(object: T, situation: S): Promise<Outcome>;
}

export function lookReconciler<T extends { metadata: ObjectMeta }, S extends Situation>(
  looking: Looking<T, S>,
): Reconciler<T> {
  const { name, intervals, clock = systemClock, situationOf, look } = looking;
  const memory = new Map<string, Look>();
  return {
    name,
    memory,
    dueAt(object, now) {
      const uid = object.metadata.uid ?? "";
      const situation = situationOf(object, now);
      if (!situation) {
        memory.delete(uid);
        return undefined;
      }
      const planned = plannedLook(memory.get(uid), situation, now, intervals);
      memory.set(uid, planned);
      return planned.at === Infinity ? undefined : planned.at;
    },
    async reconcile(object, now) {
      const uid = object.metadata.uid ?? "";
      const planned = memory.get(uid);
      const situation = situationOf(object, now);
      if (!planned || !situation) return;
      const outcome = await look(object, situation);
      // Another situation may have begun during the check, with a plan of its own.
      if (memory.get(uid) === planned) memory.set(uid, requeue(planned, outcome, clock.now(), intervals));
    },
  };
}
