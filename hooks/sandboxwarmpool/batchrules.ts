/**
 * Declares for the guard how a pool's status counts what it makes. How many members are made, and how soon, depends on the
 * batches in the status: without them a pool makes members that are on their way again, and tries at full speed what a quota
 * refuses; with wrong ones it makes none. @module
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

/** Newer batches must stay, in milliseconds: their members may be on their way. */
const RECENT_MS = 3000;
/** So many of the last must stay: they show how far apart tries were. */
const LAST_KEPT = 2;
/** A status lists no more batches. */
const MOST_BATCHES = 200;

/**
 * Tells whether the status counts as the answer creates: up to the highest new member; if there is none, as high as
 * observed. With a count that grew by itself, each call would be a write.
 */
export function isSequence(value: unknown, observed: Of, desired: readonly DesiredObject[]): boolean {
  const number = Number(value ?? 0);
  const made = newNumbers(observed, desired);
  if (made.length > 0) return number === Math.max(...made);
  return number >= highestNumber(observed) && number <= highestOfAll(observed);
}

/**
 * Tells whether the batches are the observed ones in their order, and one more if the answer creates members: of these, and
 * of now. Only together with a new batch old ones may go.
 */
export function areBatches(value: unknown, observed: Of, now: Date, desired: readonly DesiredObject[]): boolean {
  if (value !== undefined && !Array.isArray(value)) return false;
  const made = newNumbers(observed, desired);
  const listed: unknown[] = value ?? [];
  if (made.length > 0 && !isNewBatch(listed.at(-1), Math.min(...made), now)) return false;
  const known = (observed.parent.status?.batches ?? []).slice(-MOST_BATCHES);
  const repeated = made.length > 0 ? listed.slice(0, -1) : listed;
  // From the end: of batches that are alike, the last ones stay.
  let left = repeated.length;
  for (const [index, batch] of [...known.entries()].reverse()) {
    if (isRepeated(repeated[left - 1], batch, () => mostArrived(observed, known, index))) left--;
    else if (made.length === 0 || isRecent(batch, now) || index >= known.length - LAST_KEPT) return false;
  }
  return left === 0;
}

/**
 * Tells whether the time of the last loss is the observed one, or now if members are missing since the last status. A time
 * that moved with each call would keep the pool from being refilled.
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

/** Only the number of those that have arrived may grow. */
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
