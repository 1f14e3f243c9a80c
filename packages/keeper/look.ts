/** Looks at an object again and again for as long as something in its status calls for that, and how often. @module */
import { lifetimeOf } from "../api/expiry.ts";
import { hasOtherPod } from "../api/podname.ts";
import type { Sandbox } from "../api/sandbox.ts";
import { type Clock, systemClock } from "../process/clock.ts";
import { findCondition } from "../api/objects/conditions.ts";
import { UNRESOLVED_ANNOTATION } from "../api/objects/keys.ts";
import type { ObjectMeta } from "../api/objects/objects.ts";
import type { Reconciler } from "./reconciler.ts";

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

/**
 * Tells what in a Sandbox calls for a look at its children; undefined: nothing.
 *
 * | mode | Ready | Suspended | annotation | situation |
 * |---|---|---|---|---|
 * | (being deleted) | | | any | none |
 * | (expired) | | | there, or a write of a child was refused | leftover |
 * | any | any | any | there | look |
 * | any | any | any | none, but a write of a child was refused | look |
 * | Running | False: something does not exist | any | none | look |
 * | Running | not True, with volume claim templates | any | none | look |
 * | Running | not True, and another Pod than one of its name is noted | any | none | look |
 * | Suspended | any | True | none | look |
 * | else | | | none | none |
 */
export function situationOf(sandbox: Sandbox, now: number, refusal?: string): Situation | undefined {
  const { metadata, spec, status } = sandbox;
  if (metadata.deletionTimestamp !== undefined) return undefined;
  const isAnnotated = metadata.annotations?.[UNRESOLVED_ANNOTATION] !== undefined;
  if (isExpired(sandbox, now)) {
    const isCalling = isAnnotated || refusal !== undefined;
    return isCalling ? { key: `leftover ${metadata.generation} ${refusal ?? ""}`, kind: "leftover" } : undefined;
  }
  const ready = findCondition(status?.conditions, "Ready");
  const suspended = findCondition(status?.conditions, "Suspended");
  const isCalling = spec.operatingMode === "Suspended"
    ? suspended?.status === "True"
    // The hook makes no Pod before it is known what became of another one.
    : ready?.status !== "True" && (hasOtherPod(sandbox) || ready !== undefined && mayLack(sandbox, ready.message));
  if (!isAnnotated && !isCalling && refusal === undefined) return undefined;
  const key = `${metadata.generation} ${spec.operatingMode} ${ready?.status} ${suspended?.status} ${refusal ?? ""}`;
  return { key, kind: "look" };
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

function mayLack({ spec }: Sandbox, message: string): boolean {
  return (spec.volumeClaimTemplates ?? []).length > 0 || message.includes("does not exist");
}

function isExpired(sandbox: Sandbox, now: number): boolean {
  if (findCondition(sandbox.status?.conditions, "Ready")?.reason === "SandboxExpired") return true;
  return Date.parse(lifetimeOf(sandbox).shutdownTime ?? "") <= now;
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
