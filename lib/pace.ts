/** Holds back what comes too often for one key, so that a burst of events is answered together. Decides nothing. @module */
import { type Clock, systemClock } from "./clock.ts";

export interface Pace {
  /** Resolves at once, or when the interval since the last time for this key is over. */
  wait(key: string): Promise<void>;
}

export interface PaceOptions {
  /** Shortest time between two of a key, in milliseconds; 0: none is held back. */
  intervalMs: number;
  /** How many are held back at once; further ones go through. */
  mostHeld: number;
  /** @default {systemClock} */
  clock?: Clock;
}

/** Makes a pace that has seen nothing. */
export function createPace({ intervalMs, mostHeld, clock = systemClock }: PaceOptions): Pace {
  /** When a key goes through next, or went last; oldest first. */
  const times = new Map<string, number>();
  let held = 0;
  return {
    async wait(key) {
      const now = clock.now();
      for (const [old, at] of times) {
        if (now - at < intervalMs) break;
        times.delete(old);
      }
      const due = (times.get(key) ?? -Infinity) + intervalMs;
      const isHeld = due > now && held < mostHeld;
      times.delete(key);
      times.set(key, isHeld ? due : now);
      if (!isHeld) return;
      held++;
      await new Promise<void>((fulfil) => clock.setTimeout(fulfil, due - now));
      held--;
    },
  };
}
