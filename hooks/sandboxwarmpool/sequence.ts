/**
 * The numbers and names of a pool's members: counted up, never used twice, so that a stale view asks for the same names
 * again instead of for more members. @module
 */
import type { Sandbox } from "../../api/sandbox.ts";
import type { SandboxWarmPool } from "../../api/sandboxwarmpool.ts";
import { POOL_SEQUENCE_ANNOTATION } from "../../lib/keys.ts";
import { nameHash } from "../../lib/names.ts";
import type { PoolMemory } from "./memory.ts";

/** A member's number, and that of the first member made along with it. */
export interface Place {
  number: number;
  first: number;
}

/** A Service's name, which is the Sandbox's, is a DNS label. */
const LONGEST_NAME = 63;
/** How long creations may take to show up. */
const IN_FLIGHT_MS = 3000;
/** When numbers of which nothing has shown up are given up: others have the names, and the API server takes no second. */
const IN_VAIN_MS = 30_000;
/** Members that one answer makes at most. */
const MOST_MADE = 1000;

/** Reads a member's place; undefined if another controller has made it, or somebody has written nonsense. */
export function placeOf({ metadata }: Sandbox): Place | undefined {
  const [number = NaN, first = NaN] = (metadata.annotations?.[POOL_SEQUENCE_ANNOTATION] ?? "").split("/").map(Number);
  const isPlace = Number.isSafeInteger(number) && Number.isSafeInteger(first) && first > 0;
  return isPlace && first <= number && number - first < MOST_MADE ? { number, first } : undefined;
}

/** Writes a place as the annotation's value. */
export function placeText({ number, first }: Place): string {
  return `${number}/${first}`;
}

/**
 * Returns the name of the pool's member of that number, a DNS label: a pool's name that is too long is cut, dots become
 * dashes, and its hash keeps such names apart.
 */
export function memberName(pool: SandboxWarmPool, number: number): string {
  const suffix = `-${number.toString(36)}`;
  const { name } = pool.metadata;
  const label = name.replaceAll(".", "-");
  if (label === name && name.length + suffix.length <= LONGEST_NAME) return name + suffix;
  const mark = `-${nameHash(name)}${suffix}`;
  return label.slice(0, LONGEST_NAME - mark.length).replace(/-+$/, "") + mark;
}

/**
 * Returns the highest number in use: of the members seen now or before. A pool without a past begins at the milliseconds
 * of its birth, so that a pool of the same name does not use the names of the one before it.
 */
export function highestNumber(pool: SandboxWarmPool, members: Sandbox[], memory: PoolMemory, now: Date): number {
  const seen = members.map((member) => placeOf(member)?.number ?? 0);
  const highest = Math.max(memory.sequence, pool.status?.sequence ?? 0, ...seen) || firstNumber(pool, now);
  const { after, last, at } = memory.tried ?? { after: NaN, last: NaN, at: NaN };
  memory.sequence = highest === after && now.getTime() - at >= IN_VAIN_MS ? last : highest;
  return memory.sequence;
}

/**
 * Not the clock: a process that has just been started asks for the names that the one before it asked for, and that do
 * not show yet, instead of for as many again. Births are whole seconds: the UID tells those of one second apart.
 */
function firstNumber({ metadata }: SandboxWarmPool, now: Date): number {
  const born = Date.parse(metadata.creationTimestamp ?? "");
  return Number.isNaN(born) ? now.getTime() : born + Number.parseInt(nameHash(metadata.uid ?? ""), 16) % 1000;
}

/**
 * Returns the places of new members, and takes note of them.
 *
 * @param after {@link highestNumber}
 * @param taken names that they cannot have
 */
export function nextPlaces(
  pool: SandboxWarmPool,
  { after, count }: { after: number; count: number },
  taken: ReadonlySet<string>,
  memory: PoolMemory,
  now: Date,
): Place[] {
  const numbers: number[] = [];
  for (let number = after + 1; numbers.length < count; number++) {
    if (!taken.has(memberName(pool, number))) numbers.push(number);
  }
  const last = numbers.at(-1);
  if (last !== undefined) {
    memory.tried = { after, last, at: memory.tried?.after === after ? memory.tried.at : now.getTime() };
  }
  return numbers.map((number) => ({ number, first: numbers[0] ?? number }));
}

/**
 * Counts members that were made a moment ago and have not shown up: a younger one of the same answer has.
 *
 * @param settled names known to have gone since
 */
export function inFlight(members: Sandbox[], settled: ReadonlySet<string>, pool: SandboxWarmPool, now: Date): number {
  const numbers = new Set(members.map((member) => placeOf(member)?.number));
  const missing = new Set<number>();
  for (const member of members) {
    const place = placeOf(member);
    const age = now.getTime() - Date.parse(member.metadata.creationTimestamp ?? "");
    // An age that is unknown, or far below 0 because clocks differ, says nothing of a moment ago.
    if (!place || !(Math.abs(age) <= IN_FLIGHT_MS)) continue;
    for (let number = place.first; number < place.number; number++) if (!numbers.has(number)) missing.add(number);
  }
  return [...missing].filter((number) => !settled.has(memberName(pool, number))).length;
}
