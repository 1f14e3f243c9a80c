/** What one task of the keeper is, as the reconcile queue sees it, and such as look at an object again for as long as its status calls for that. @module */
import type { ObjectMeta } from "../api/objects/objects.ts";
import { type Clock, systemClock } from "../process/clock.ts";

/**
 * One task that the keeper has for the objects of a kind.
 *
 * `memory` holds what it remembers of each object by UID; the queue drops what belongs to objects that are gone. All of
 * it can be lost: a new process begins with none.
 */
export interface Reconciler<T> {
  name: string;
  memory: Map<string, unknown>;
  /**
   * Called when a list begins: forgets which versions were handled. After a restore of etcd, earlier writes may be undone and
   * a version may come twice, so everything that the list shows is judged again. Absent: no version is remembered.
   */
  listing?(): void;
  /**
   * Tells when it wants to act on the object as it is now, in milliseconds since the epoch; undefined: not at all.
   * Asked at every event, so it is cheap and sends nothing.
   */
  dueAt(object: T, now: number): number | undefined;
  /** Acts, and remembers, so that {@link dueAt} moves on. @throws if it has to be tried again, with back-off */
  reconcile(object: T, now: number): Promise<void>;
}

/** What the keeper does to objects. */
export type Action =
  | "deleted"
  | "deletion put off"
  | "adopted"
  | "annotated"
  | "annotation removed"
  | "spec left out of last-applied";

/** Takes note of an action on an object, or for the sake of one: its child was touched. */
export type Report = (action: Action, parent: ObjectMeta, details: Record<string, unknown>) => void;

/** Waits, in milliseconds. */
export interface Intervals {
  /** How long a state must last before the first look; doubled for each further one. */
  settle: number;
  /** Longest wait while there is a problem. */
  problem: number;
  /** Longest wait while nothing is wrong: others are at work, and the status will tell. */
  calm: number;
}

export const INTERVALS: Intervals = { settle: 1000, problem: 30_000, calm: 300_000 };

/** What is remembered of a Sandbox; `at` (milliseconds since the epoch) is Infinity once nothing more is to be seen. */
export interface Look {
  /** What called for it; another situation begins afresh. */
  situation: string;
  at: number;
  wait: number;
}

/**
 * What a look has led to.
 *
 * | outcome | meaning | next look |
 * |---|---|---|
 * | `problem` | something is in the way, or could not be written down | after 1, 2, 4 … 30 s |
 * | `coming` | nothing is in the way of what is missing | after 1, 2, 4 … 300 s |
 * | `whole` | all children are ours | after 300 s |
 * | `nothing` | suspended, and no Pod in sight | never |
 */
export type Outcome = "problem" | "coming" | "whole" | "nothing";

/** What calls for attention; another `key` begins afresh. `leftover`: no child is wanted any more. */
export interface Situation {
  key: string;
  kind: "look" | "leftover";
  /** The first look is not before this, in milliseconds since the epoch. */
  notBefore?: number;
}

/** Returns the next look in this situation: the one already planned, else one once the state has settled. */
export function plannedLook(before: Look | undefined, situation: Situation, now: number, intervals: Intervals): Look {
  const { key, kind, notBefore = 0 } = situation;
  if (before?.situation === key) return before;
  return {
    situation: key,
    at: Math.max(notBefore, kind === "leftover" ? now : now + intervals.settle),
    wait: intervals.settle,
  };
}

/** Returns the look after one that was just taken. */
export function requeue(before: Look, outcome: Outcome, now: number, intervals: Intervals): Look {
  if (outcome === "nothing") return { ...before, at: Infinity };
  if (outcome === "whole") return { ...before, at: now + intervals.calm };
  const longest = outcome === "problem" ? intervals.problem : intervals.calm;
  const wait = Math.min(before.wait, longest);
  return { ...before, at: now + wait, wait: wait * 2 };
}

/** What tells such reconcilers apart. */
export interface Looking<T, S extends Situation> {
  name: string;
  intervals: Intervals;
  /** @default {systemClock} */
  clock?: Clock | undefined;
  /** Tells what calls for a look; undefined: nothing. Asked at every event. */
  situationOf(object: T, now: number): S | undefined;
  /** Looks, and acts upon it. @throws if it has to be tried again, with back-off */
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
      // Another situation may have begun meanwhile, with a plan of its own.
      if (memory.get(uid) === planned) memory.set(uid, requeue(planned, outcome, clock.now(), intervals));
    },
  };
}
