/**
 * What a pool has asked for of late, by its status: what may still be on its way, and, where the API server refuses
 * Sandboxes, as a quota does, how few are tried and how seldom. @module
 */
import type { Sandbox } from "../../packages/api/sandbox.ts";
import type { SandboxWarmPool, SandboxWarmPoolStatus } from "../../packages/api/sandboxwarmpool.ts";
import { HANDED_OVER_AT_ANNOTATION } from "../../packages/api/objects/keys.ts";
import { MOST_MADE, type Place, placeOf } from "./sequence.ts";

/** Members that were made together, as the status tells of them. */
interface Batch {
  first: number;
  last: number;
  at: string;
  trial: boolean;
  arrived: number;
}

/** How long creations may take to show up; after that they are somebody else's, or were refused. */
export const IN_FLIGHT_MS = 3000;
/** Longest time between two tries of what was refused. */
const LONGEST_MS = 30_000;
/** From those that came to those that are tried next; as if so many had come, where there is news of the pool. */
const GROWTH = 4;
const NEWS = 4;
/** So far the clocks of binder and hook may be apart. */
const SKEW_MS = 60_000;
/** How many of those that are on their way no more the status tells of: two say how far apart tries were. */
const KEPT = 2;
/** No status tells of more: answers are too far apart. */
const MOST_BATCHES = 200;

/**
 * Counts members that were asked for a moment ago and have not shown up: of the newest batches by the status, which may be
 * older than the view of members; and of batches of which others have shown up.
 *
 * @param members all that the pool still owns
 */
export function inFlight(pool: SandboxWarmPool, members: readonly Sandbox[], now: Date): number {
  const seen = new Set(members.map((member) => placeOf(member)?.number));
  const missing = new Set<number>();
  const look = (first: number, last: number) => {
    for (let number = first; number <= last; number++) if (!seen.has(number)) missing.add(number);
  };
  for (const { first, last, at } of batchesOf(pool, members)) {
    if (isRecent(at, now) && last - first < MOST_MADE) look(first, last);
  }
  for (const member of members) {
    const place = placeOf(member);
    if (place && isRecent(member.metadata.creationTimestamp, now)) look(place.first, place.number);
  }
  return missing.size;
}

/** How careful to be with new members. */
export interface Caution {
  /** How many may be made, and not before when, in milliseconds since the epoch. */
  most: number;
  notBefore: number;
  /** None of those asked for last has come. */
  isRefused: boolean;
}

/**
 * Tells how careful to be with new members, by what has become of those made before.
 *
 * | of the last batch that has come, or is on its way no more | the next may be | not before |
 * |---|---|---|
 * | all came, and it was no trial | of any size | |
 * | some came | four times as many: a trial | |
 * | claims have taken members since, or the pool's spec is new | four times as many, 16 at least: a trial | |
 * | none came | one: a trial | nothing is on its way; then twice as late each time, up to 30 s |
 *
 * @param members all that the pool still owns
 */
export function cautionOf(pool: SandboxWarmPool, members: readonly Sandbox[], now: Date): Caution {
  const batches = batchesOf(pool, members);
  const hasCome = ({ arrived, first, last }: Batch) => arrived > last - first;
  const index = batches.findLastIndex((batch) => hasCome(batch) || !isRecent(batch.at, now));
  const judged = batches[index];
  if (!judged || (hasCome(judged) && !judged.trial)) return { most: Infinity, notBefore: 0, isRefused: false };
  const at = Date.parse(judged.at);
  const isNew = pool.status?.observedGeneration !== pool.metadata.generation;
  const hasNews = isNew || isTold(pool, new Date(at - SKEW_MS).toISOString(), now);
  const come = Math.max(judged.arrived, hasNews ? NEWS : 0);
  if (come > 0) return { most: GROWTH * come, notBefore: 0, isRefused: false };
  const before = batches[index - 1];
  const apart = before?.arrived === 0 ? at - Date.parse(before.at) : 0;
  const landed = Date.parse(batches.at(-1)?.at ?? "") + IN_FLIGHT_MS + 1;
  const notBefore = Math.max(landed, at + Math.min(2 * apart, LONGEST_MS));
  // No clock that is right comes so late.
  return { most: 1, notBefore: notBefore > now.getTime() + LONGEST_MS ? 0 : notBefore, isRefused: true };
}

/**
 * Tells whether the binder has told the pool of members that it has handed over since then; undefined: ever. Who may write
 * the pool may write any time there: one that is yet to come says nothing.
 */
export function isTold({ metadata }: SandboxWarmPool, since: string | undefined, now: Date): boolean {
  const toldAt = Date.parse(metadata.annotations?.[HANDED_OVER_AT_ANNOTATION] ?? "");
  return toldAt > (since === undefined ? -Infinity : Date.parse(since)) && toldAt <= now.getTime() + SKEW_MS;
}

/** Returns what the pool's status tells of batches once `made` is made. */
export function batchesStatus(
  pool: SandboxWarmPool,
  members: readonly Sandbox[],
  made: readonly Place[],
  now: Date,
): Pick<SandboxWarmPoolStatus, "batches"> {
  const known = batchesOf(pool, members);
  const kept = known.filter(({ at }, index) => isRecent(at, now) || index >= known.length - KEPT);
  const isTrial = made.length >= cautionOf(pool, members, now).most;
  const batches = (made.length > 0 ? kept : known).map(({ last: _, trial, arrived, ...batch }) => ({
    ...batch,
    ...(trial ? { trial } : {}),
    ...(arrived > 0 ? { arrived } : {}),
  }));
  const [first] = made;
  if (first) batches.push({ first: first.number, at: now.toISOString(), ...(isTrial ? { trial: true } : {}) });
  return batches.length > 0 ? { batches } : {};
}

function batchesOf({ status }: SandboxWarmPool, members: readonly Sandbox[]): Batch[] {
  const { batches = [], sequence = 0 } = status ?? {};
  const numbers = members.flatMap((member) => placeOf(member)?.number ?? []);
  return batches.slice(-MOST_BATCHES).map(({ first, at, trial = false, arrived = 0 }, index, all) => {
    const last = (all[index + 1]?.first ?? sequence + 1) - 1;
    const seen = numbers.filter((number) => number >= first && number <= last).length;
    return { first, last, at, trial, arrived: Math.max(arrived, seen) };
  });
}

function isRecent(time: string | undefined, now: Date): boolean {
  return Math.abs(now.getTime() - Date.parse(time ?? "")) <= IN_FLIGHT_MS;
}
