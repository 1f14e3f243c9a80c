/**
 * Delays calls that come too soon after another call with the same key, so that bursts are answered together or one
 * after the other.
 * @module
 */
import { type Clock, systemClock } from "../process/clock.ts";

/** The minimum interval between calls with the same key. */
export interface Spacing {
  /** The interval applies to calls with the same key. */
  key: string;
  /** Shortest time since the call before, in milliseconds; 0: no call is delayed. */
  intervalMs: number;
}

export interface Throttle {
  /** Resolves at once, or when the interval since the call before has passed. */
  wait(spacing: Spacing): Promise<void>;
}

export interface ThrottleOptions {
  /** How many calls are delayed at the same time, over all keys. Further calls pass at once. */
  mostHeld: number;
  /** Longest delay of a call, in milliseconds, whatever its interval: after that, its client would no longer wait. */
  longestMs: number;
  /** @default systemClock */
  clock?: Clock;
}

interface Last {
  /** When the last call passed, or the next one will pass. */
  at: number;
  /** No call is delayed until then: more than `mostHeld` calls came at once, and delaying only a few of many is useless. */
  rushUntil: number;
  intervalMs: number;
}

/** A burst is over if no call has come for this many intervals. */
const RUSH_INTERVALS = 5;

/** Creates a throttle without earlier calls. */
export function createThrottle({ mostHeld, longestMs, clock = systemClock }: ThrottleOptions): Throttle {
  /** In the order of their last use. */
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
