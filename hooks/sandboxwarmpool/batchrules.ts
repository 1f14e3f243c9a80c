/**
 * Declares for the guard how a pool's status may count the members that it creates. How many members a pool creates,
 * and how soon, depends on the batches in its status. Without the batches, a pool would create members again that are
 * not observed yet, and would repeat at full speed what a quota refuses. With wrong batches, it would create no
 * members. @module
 */
import type { SandboxWarmPool } from "../../packages/api/sandboxwarmpool.ts";
import { isObject, type Json } from "../../packages/api/objects/json.ts";
import { POOL_SEQUENCE_ANNOTATION } from "../../packages/api/objects/keys.ts";
import type { DesiredObject } from "../../packages/api/objects/objects.ts";
import { listAll, type Observed } from "../../packages/webhook/metacontroller.ts";
import { oncePer } from "../../packages/webhook/once.ts";
import { highestNumber, highestOfAll, numberOf } from "./memberrules.ts";

type Of = Observed<SandboxWarmPool>;
type Batch = NonNullable<NonNullable<SandboxWarmPool["status"]>["batches"]>[number];

/** Batches that are younger than this many milliseconds must stay: their members may not be observed yet. */
const RECENT_MS = 3000;
/** This many of the last batches must stay: they show the time between attempts. */
const LAST_KEPT = 2;
/** A status lists no more batches. */
const MOST_BATCHES = 200;

/**
 * Tells whether the status counts the members that the answer creates. The count is the highest number of a new member.
 * If there is none, the count is as high as observed. If the count grew by itself, each call would cause a write.
 */
export function isSequence(value: unknown, observed: Of, desired: readonly DesiredObject[]): boolean {
  const number = Number(value ?? 0);
  const made = newNumbers(observed, desired);
  if (made.length > 0) return number === Math.max(...made);
  return number >= highestNumber(observed) && number <= highestOfAll(observed);
}

/**
 * Tells whether the batches are the observed ones in their order, and one more if the answer creates members. The new
 * batch starts at the lowest number of these members, and its time is now. Old batches may be removed only when a new
 * batch is added.
 */
export function areBatches(value: unknown, observed: Of, now: Date, desired: readonly DesiredObject[]): boolean {
  if (value !== undefined && !Array.isArray(value)) return false;
  const made = newNumbers(observed, desired);
  const listed: unknown[] = value ?? [];
  if (made.length > 0 && !isNewBatch(listed.at(-1), Math.min(...made), now)) return false;
  const known = (observed.parent.status?.batches ?? []).slice(-MOST_BATCHES);
  const repeated = made.length > 0 ? listed.slice(0, -1) : listed;
  // Compares from the end: if batches are equal, the last ones stay.
  let left = repeated.length;
  for (const [index, batch] of [...known.entries()].reverse()) {
    if (isRepeated(repeated[left - 1], batch, () => mostArrived(observed, known, index))) left--;
    else if (made.length === 0 || isRecent(batch, now) || index >= known.length - LAST_KEPT) return false;
  }
  return left === 0;
}

/**
 * Tells whether the time of the last loss is the observed one, or now if there are fewer members than in the last
 * status. If the time moved with each call, the pool would never be refilled.
 */
export function isLossTime(value: unknown, { parent: { status } }: Of, now: Date, members: number): boolean {
  if (value === undefined || value === status?.lostAt) return true;
  return members < (status?.replicas ?? 0) && Date.parse(String(value)) === now.getTime();
}

function newNumbers({ children }: Of, desired: readonly DesiredObject[]): number[] {
  const names = new Set(listAll(children).map(({ metadata }) => metadata.name));
  return desired.filter(({ metadata }) => !names.has(metadata.name))
    .map(({ metadata }) => numberOf(metadata.annotations?.[POOL_SEQUENCE_ANNOTATION]));
}

function isNewBatch(batch: unknown, first: number, now: Date): boolean {
  if (!isObject(batch)) return false;
  const { first: number, at, trial, ...more } = batch;
  return number === first && Date.parse(String(at)) === now.getTime() && (trial === undefined || trial === true) &&
    Object.keys(more).length === 0;
}

/** Of a repeated batch, only the number of arrived members may grow. */
function isRepeated(batch: unknown, known: Batch, most: () => number): boolean {
  if (!isObject(batch)) return false;
  const { first, at, trial = false, arrived = 0, ...more }: Json = batch;
  const { trial: wasTrial = false, arrived: hadArrived = 0 } = known;
  if (first !== known.first || at !== known.at || trial !== wasTrial || Object.keys(more).length > 0) return false;
  return arrived === hadArrived || (Number(arrived) > hadArrived && Number(arrived) <= most());
}

/** Counts the observed Sandboxes with a number of the batch. */
function mostArrived(observed: Of, known: readonly Batch[], index: number): number {
  const first = known[index]?.first ?? 0;
  const end = known[index + 1]?.first ?? (observed.parent.status?.sequence ?? 0) + 1;
  return numbersIn(observed).filter((number) => number >= first && number < end).length;
}

const numbersIn = oncePer(({ children }: Of): number[] =>
  listAll(children).map(({ metadata }) => numberOf(metadata.annotations?.[POOL_SEQUENCE_ANNOTATION]))
);

function isRecent({ at }: Batch, now: Date): boolean {
  return Math.abs(now.getTime() - Date.parse(at)) <= RECENT_MS;
}
