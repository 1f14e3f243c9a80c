/**
 * Reads from a pool's status which members the pool has created recently: how many may not be observed yet, and, if the
 * API server refuses Sandboxes (because of a quota, for example), how many to try and how soon. @module
 */
import type { Sandbox } from "../../packages/api/sandbox.ts";
import type { SandboxWarmPool, SandboxWarmPoolStatus } from "../../packages/api/sandboxwarmpool.ts";
import { HANDED_OVER_AT_ANNOTATION, MISSING_MEMBERS_ANNOTATION } from "../../packages/api/objects/keys.ts";
import { MOST_MADE, type Place, placeOf } from "./sequence.ts";

/** Members that were created together, as recorded in the status. */
interface Batch {
  first: number;
  last: number;
  at: string;
  trial: boolean;
  arrived: number;
}

/** How long it may take until new members are observed. After that, they belong to somebody else, or were refused. */
export const IN_FLIGHT_MS = 3000;
/** Longest time between two attempts after a refusal. */
const LONGEST_MS = 30_000;
/**
 * A batch may have this many times as many members as arrived of the batch before it. After a change of the pool, at
 * least `NEWS` count as arrived.
 */
const GROWTH = 4;
const NEWS = 4;
/** How much the clocks of binder and hook may differ. */
const SKEW_MS = 60_000;
/**
 * How many batches that are no longer on their way stay in the status. Two are enough to know the time between
 * attempts.
 */
const KEPT = 2;
/** A status never lists more batches, because answers are too far apart. */
const MOST_BATCHES = 200;

/**
 * Counts the members that were created a moment ago and are not observed yet. They are found in two ways: from the
 * newest batches in the status, which may be older than the observed members, and from the places of recently created
 * members.
 *
 * @param members all Sandboxes that the pool still owns
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

/** The limits for the next batch of members. */
export interface Caution {
  /** How many members may be created, and the earliest time for it in milliseconds since the epoch. */
  most: number;
  notBefore: number;
  /** No member of the last batch has arrived. */
  isRefused: boolean;
}

/**
 * Computes the limits for the next batch from the result of the last one that has arrived completely or is no longer on
 * its way.
 *
 * | result of that batch | size of the next batch | not before |
 * |---|---|---|
 * | all members arrived, and it was not a trial | any size | |
 * | some arrived | four times as many: a trial | |
 * | claims have taken members since then, or the pool's spec is new | four times as many, but at least 16: a trial | |
 * | none arrived | one: a trial | no members are on their way; the wait then doubles each time, up to 30 s |
 *
 * @param members all Sandboxes that the pool still owns
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
  // A time that is too far ahead comes from a wrong clock, and does not count.
  return { most: 1, notBefore: notBefore > now.getTime() + LONGEST_MS ? 0 : notBefore, isRefused: true };
}

/**
 * Tells whether the binder has reported that it bound members after `since`; undefined: at any time. Everybody who may
 * write the pool may write any time there, so a time in the future does not count.
 */
export function isTold({ metadata }: SandboxWarmPool, since: string | undefined, now: Date): boolean {
  const toldAt = Date.parse(metadata.annotations?.[HANDED_OVER_AT_ANNOTATION] ?? "");
  return toldAt > (since === undefined ? -Infinity : Date.parse(since)) && toldAt <= now.getTime() + SKEW_MS;
}

/**
 * Returns how many members the pool lacked at the binder's last report that nobody was creating; Infinity: the report
 * does not tell, because a binder of an earlier version has written it.
 */
export function toldMissing({ metadata }: SandboxWarmPool): number {
  const count = Number(metadata.annotations?.[MISSING_MEMBERS_ANNOTATION] ?? NaN);
  return Number.isInteger(count) && count >= 0 ? count : Infinity;
}

/** Returns the batches for the pool's status, including a batch with the members in `made`. */
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
