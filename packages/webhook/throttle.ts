/** Holds back calls that come too soon after another: bursts are answered together, or one after the other. Decides nothing. @module */
import { type Clock, systemClock } from "../process/clock.ts";

/** What a call keeps its distance from, and how far. */
export interface Spacing {
  /** Calls of the same key keep their distance from each other. */
  key: string;
  /** Shortest time since the one before, in milliseconds; 0: none is held back. */
  intervalMs: number;
}

export interface Throttle {
  /** Resolves at once, or when the interval since the call before is over. */
  wait(spacing: Spacing): Promise<void>;
}

export interface ThrottleOptions {
  /** How many are held back at once, of all keys; further ones go through. */
  mostHeld: number;
  /** Longest time that one is held back, in milliseconds, whatever its interval: nobody waits for its answer any longer. */
  longestMs: number;
  /** @default systemClock */
  clock?: Clock;
}

interface Last {
  /** When a call goes through next, or went last. */
  at: number;
  /** None is held back until then: more than `mostHeld` came at once, and to hold back a few of many would be in vain. */
  rushUntil: number;
  intervalMs: number;
}

/** A crowd is over when nobody has come for so many intervals. */
const RUSH_INTERVALS = 5;

/** Makes a throttle that has seen nothing. */
export function createThrottle({ mostHeld, longestMs, clock = systemClock }: ThrottleOptions): Throttle {
  /** Oldest first. */
  const lasts = new Map<string, Last>();
  let held = 0;

  function forget(now: number): void {
    for (const [key, { at, rushUntil, intervalMs }] of lasts) {
      if (now < Math.max(at + intervalMs, rushUntil)) break;
      lasts.delete(key);
    }
  }

  return {
    async wait({ key, intervalMs }) {
      const now = clock.now();
      forget(now);
      const { at, rushUntil } = lasts.get(key) ?? { at: -Infinity, rushUntil: -Infinity };
      const due = Math.min(at + intervalMs, now + longestMs);
      const isRush = now < rushUntil || due - now > mostHeld * intervalMs;
      const isHeld = due > now && held < mostHeld && !isRush;
      lasts.delete(key);
      lasts.set(key, {
        at: isHeld ? due : now,
        rushUntil: isRush ? now + RUSH_INTERVALS * intervalMs : -Infinity,
        intervalMs,
      });
      if (!isHeld) return;
      held++;
      await new Promise<void>((fulfil) => clock.setTimeout(fulfil, due - now));
      held--;
    },
  };
}
