/** Declares for the guard what a pool's status may contain. Autoscalers and the names of new members depend on it. @module */
import type { Sandbox } from "../../packages/api/sandbox.ts";
import type { SandboxWarmPool } from "../../packages/api/sandboxwarmpool.ts";
import { sameJson } from "../../packages/api/objects/apply.ts";
import { findCondition } from "../../packages/api/objects/conditions.ts";
import { POOL_SEQUENCE_ANNOTATION, WARM_POOL_LABEL } from "../../packages/api/objects/keys.ts";
import { nameHash } from "../../packages/api/objects/names.ts";
import type { DesiredObject } from "../../packages/api/objects/objects.ts";
import type { ReportedCondition, StatusInvariants, StatusRules } from "../../packages/webhook/statusrules.ts";
import { listAll, type Observed } from "../../packages/webhook/metacontroller.ts";
import { oncePer } from "../../packages/webhook/once.ts";
import { readApplied } from "./applied.ts";
import { isStaying } from "./deletionreasons.ts";
import { arrivedNumber, arrivedOfAll, counted, highestNumber, highestOfAll, isUsed, numberOf } from "./memberrules.ts";
import { isObject, type Json } from "../../packages/api/objects/json.ts";

type Of = Observed<SandboxWarmPool>;

/** A pool that is being deleted may repeat its status. */
const unlessDeleted =
  (isRight: (value: unknown, observed: Of, now: Date, desired: readonly DesiredObject[]) => boolean) =>
  (value: unknown, observed: Of, now: Date, status: object, desired: readonly DesiredObject[]) =>
    isRight(value, observed, now, desired) ||
    (observed.parent.metadata.deletionTimestamp !== undefined && sameJson(status, { ...observed.parent.status }));

export const statusRules: StatusRules<SandboxWarmPool> = {
  conditionTypes: ["NetworkPolicy", "Progressing", "Ready"],
  fields: {
    replicas: unlessDeleted((value, observed) => value === (membersOf(observed).length || undefined)),
    readyReplicas: unlessDeleted((value, observed) =>
      value === (membersOf(observed).filter(isReady).length || undefined)
    ),
    selector: unlessDeleted((value, { parent }) => value === `${WARM_POOL_LABEL}=${nameHash(parent.metadata.name)}`),
    // Names of members contain numbers. If the sequence went back, a name would be used twice. If it ran out, it would
    // begin again.
    sequence: unlessDeleted((value, observed, _, desired) => isSequence(value, observed, desired)),
    arrivedSequence: unlessDeleted((value, observed, _, desired) => isArrived(value, observed, desired)),
    observedSequence: unlessDeleted((value, observed, _, desired) =>
      value === undefined ? isWithoutNumbers(observed, desired) : value === countedBy(observed.parent)
    ),
    batches: unlessDeleted(areBatches),
    lostAt: (value, observed, now) => isLossTime(value, observed, now, membersOf(observed).length),
  },
};

export const evidence: StatusInvariants<SandboxWarmPool> = {
  "Ready True": (saying) => isFull(saying) || isDeleted(saying),
  "Ready False": (saying) => !isFull(saying) || isDeleted(saying),
  "Ready Unknown": isDeleted,
  "Ready Absent": isDeleted,
};

function isDeleted({ observed: { parent } }: ReportedCondition<SandboxWarmPool>): boolean {
  return parent.metadata.deletionTimestamp !== undefined;
}

function isFull({ observed }: ReportedCondition<SandboxWarmPool>): boolean {
  return membersOf(observed).filter(isReady).length >= observed.parent.spec.replicas;
}

/** The members that a claim could get. */
const membersOf = oncePer(({ children }: Of): Sandbox[] =>
  listAll(children).filter((sandbox) => {
    return isStaying(sandbox) && !isUsed(sandbox) && readApplied(sandbox as Sandbox) !== "broken";
  }) as unknown as Sandbox[]
);

function isReady({ status }: Sandbox): boolean {
  return findCondition(status?.conditions, "Ready")?.status === "True";
}

/**
 * How many members a pool creates, and how soon, depends on the batches in its status. Without the batches, a pool would
 * create members again that are not observed yet, and would repeat at full speed what a quota refuses. With wrong
 * batches, it would create no members.
 */
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
function isSequence(value: unknown, observed: Of, desired: readonly DesiredObject[]): boolean {
  const number = Number(value ?? 0);
  const made = newNumbers(observed, desired);
  if (made.length > 0) return number === Math.max(...made);
  return number >= highestNumber(observed) && number <= highestOfAll(observed);
}

/** Tells whether the number is the highest that was observed. */
function isArrived(value: unknown, observed: Of, desired: readonly DesiredObject[]): boolean {
  if (value === undefined) return isWithoutNumbers(observed, desired);
  const known = counted(observed.parent.status?.arrivedSequence);
  const number = Number(value);
  return number >= Math.max(known, arrivedNumber(observed)) && number <= Math.max(known, arrivedOfAll(observed));
}

/** Tells whether no member of the pool has a number. */
function isWithoutNumbers(observed: Of, desired: readonly DesiredObject[]): boolean {
  return highestNumber(observed) === 0 && newNumbers(observed, desired).length === 0;
}

/** CRDs of earlier versions drop `arrivedSequence`; their pools go by `sequence`. */
function countedBy({ status }: SandboxWarmPool): number {
  return status?.arrivedSequence ?? status?.sequence ?? 0;
}

/**
 * Tells whether the batches are the observed ones in their order, and one more if the answer creates members. The new
 * batch starts at the lowest number of these members, and its time is now. Old batches may be removed only when a new
 * batch is added.
 */
function areBatches(value: unknown, observed: Of, now: Date, desired: readonly DesiredObject[]): boolean {
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
function isLossTime(value: unknown, { parent: { status } }: Of, now: Date, members: number): boolean {
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
