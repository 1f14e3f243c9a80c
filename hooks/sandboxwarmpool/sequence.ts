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

/** Reads a member's place; undefined if another controller has made it. */
export function placeOf({ metadata }: Sandbox): Place | undefined {
  const [number = NaN, first = NaN] = (metadata.annotations?.[POOL_SEQUENCE_ANNOTATION] ?? "").split("/").map(Number);
  return Number.isSafeInteger(number) && Number.isSafeInteger(first) ? { number, first } : undefined;
}

/** Writes a place as the annotation's value. */
export function placeText({ number, first }: Place): string {
  return `${number}/${first}`;
}

/** Returns the name of the pool's member of that number; a long name of a pool is cut and told by its hash. */
export function memberName(pool: SandboxWarmPool, number: number): string {
  const suffix = `-${number.toString(36)}`;
  const { name } = pool.metadata;
  if (name.length + suffix.length <= LONGEST_NAME) return name + suffix;
  const mark = `-${nameHash(name)}${suffix}`;
  return name.slice(0, LONGEST_NAME - mark.length).replace(/[-.]+$/, "") + mark;
}

/**
 * Returns the highest number in use: of the members seen now or before. A pool without a past begins at the clock's
 * milliseconds, so that a pool of the same name does not use the names of the one before it.
 */
export function highestNumber(pool: SandboxWarmPool, members: Sandbox[], memory: PoolMemory, now: Date): number {
  const seen = members.map((member) => placeOf(member)?.number ?? 0);
  const highest = Math.max(memory.sequence, pool.status?.sequence ?? 0, ...seen);
  memory.sequence = highest === 0 ? now.getTime() : highest;
  return memory.sequence;
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
    if (!place || now.getTime() - Date.parse(member.metadata.creationTimestamp ?? "") > IN_FLIGHT_MS) continue;
    for (let number = place.first; number < place.number; number++) if (!numbers.has(number)) missing.add(number);
  }
  return [...missing].filter((number) => !settled.has(memberName(pool, number))).length;
}
