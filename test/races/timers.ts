/** Lets what knows no clock but the machine's run on the fake one: watches that fail wait by `setTimeout`. @module */
import type { Clock } from "../../packages/process/clock.ts";

/** Runs `act` with `setTimeout`, `clearTimeout` and `Date.now` of this thread on a clock. One at a time. */
export async function onClock<T>(clock: Clock, act: () => Promise<T>): Promise<T> {
  const { setTimeout, clearTimeout } = globalThis;
  const { now } = Date;
  const later = (run: () => void, ms = 0) => clock.setTimeout(run, ms);
  // Files before this one in the same process may still have timers of the machine.
  const clear = (timer?: (() => void) | NodeJS.Timeout) => typeof timer === "function" ? timer() : clearTimeout(timer);
  Object.assign(globalThis, { setTimeout: later, clearTimeout: clear });
  Date.now = clock.now;
  try {
    return await act();
  } finally {
    Object.assign(globalThis, { setTimeout, clearTimeout });
    Date.now = now;
  }
}
