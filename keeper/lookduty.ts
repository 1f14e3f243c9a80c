/** The duty of looking at an object for as long as something in it calls for that, at the pace of look.ts. @module */
import { type Clock, systemClock } from "../lib/clock.ts";
import type { ObjectMeta } from "../lib/objects.ts";
import type { Duty } from "./duty.ts";
import { type Look, nextLook, type Outcome, type Pace, plannedLook, type Situation } from "./look.ts";

/** What tells such duties apart. */
export interface Looking<T, S extends Situation> {
  name: string;
  pace: Pace;
  /** @default {systemClock} */
  clock?: Clock | undefined;
  /** Tells what calls for a look; undefined: nothing. Asked at every event. */
  situationOf(object: T, now: number): S | undefined;
  /** Looks, and acts upon it. @throws if it has to be tried again, with back-off */
  look(object: T, situation: S): Promise<Outcome>;
}

export function lookDuty<T extends { metadata: ObjectMeta }, S extends Situation>(looking: Looking<T, S>): Duty<T> {
  const { name, pace, clock = systemClock, situationOf, look } = looking;
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
      const planned = plannedLook(memory.get(uid), situation, now, pace);
      memory.set(uid, planned);
      return planned.at === Infinity ? undefined : planned.at;
    },
    async act(object, now) {
      const uid = object.metadata.uid ?? "";
      const planned = memory.get(uid);
      const situation = situationOf(object, now);
      if (!planned || !situation) return;
      const outcome = await look(object, situation);
      // Another situation may have begun meanwhile, with a plan of its own.
      if (memory.get(uid) === planned) memory.set(uid, nextLook(planned, outcome, clock.now(), pace));
    },
  };
}
