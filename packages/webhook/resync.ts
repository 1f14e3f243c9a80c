/** When a parent is to be asked about again without an event: what an answer may ask for. Pure. @module */
import type { Refusal } from "./guard.ts";

/** Shortest wait, in seconds: only so late that the answer has been carried out. A hook that always asked for less would be called without end. */
export const SHORTEST_RESYNC_SECONDS = 0.03;
/** Longest wait, in seconds: Metacontroller counts int64 nanoseconds, so that 293 years become a negative wait, which means "now". */
export const LONGEST_RESYNC_SECONDS = 9e9;
/** Longest wait that our hooks ask for, in seconds: nothing depends on a longer one. */
const A_DAY = 86_400;

/** Returns the soonest of some waits as a wait that the guard allows; undefined: there is none. */
export function soonestResync(first: number, ...waits: number[]): number;
export function soonestResync(...waits: (number | undefined)[]): number | undefined;
export function soonestResync(...waits: (number | undefined)[]): number | undefined {
  const known = waits.filter((seconds) => seconds !== undefined);
  return known.length === 0 ? undefined : Math.max(Math.min(...known, A_DAY), SHORTEST_RESYNC_SECONDS);
}

/**
 * Checks the `resyncAfterSeconds` of an answer; undefined: there is none.
 *
 * | seconds | what Metacontroller 4.17.2 would do | verdict |
 * |---|---|---|
 * | 0, negative | ignore it: the next call never comes | refused |
 * | below {@link SHORTEST_RESYNC_SECONDS} | call the hook again at once, without end and without its limit for retries | refused |
 * | above {@link LONGEST_RESYNC_SECONDS}, infinite | the same, because its number overflows | refused |
 *
 * A refused answer is retried after 30 seconds, and children stay as they are. The guard does not raise a wait instead:
 * nobody would notice such a hook.
 */
export function guardResync(seconds: number | undefined): Refusal | undefined {
  if (seconds === undefined) return undefined;
  if (seconds >= SHORTEST_RESYNC_SECONDS && seconds <= LONGEST_RESYNC_SECONDS) return undefined;
  return { message: `resyncAfterSeconds would be ${seconds}, which calls the hook without end or never`, children: [] };
}
