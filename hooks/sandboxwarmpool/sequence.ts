/**
 * The numbers and names of a pool's members: counted up, never used twice, so that a stale view asks for the same names
 * again instead of for more members. @module
 */
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import type { Sandbox } from "../../packages/api/sandbox.ts";
import type { SandboxWarmPool, SandboxWarmPoolStatus } from "../../packages/api/sandboxwarmpool.ts";
import { POOL_SEQUENCE_ANNOTATION } from "../../packages/api/objects/keys.ts";
import { nameHash } from "../../packages/api/objects/names.ts";

/** A member's number, and that of the first member made along with it. */
export interface Place {
  number: number;
  first: number;
}

/** A Service's name, which is the Sandbox's, is a DNS label. */
const LONGEST_NAME = 63;
/** Digits of a name that follow from the pool's UID. */
const UNGUESSED = 5;
/** Members that one answer makes at most. */
export const MOST_MADE = 1000;
/** No pool comes as far. Where numbers are no longer exact, one more than a number is that number again. */
const LAST_NUMBER = 2 ** 52;

/** Reads a member's place; undefined if another controller has made it, or somebody has written nonsense. */
export function placeOf({ metadata }: Sandbox): Place | undefined {
  const [number = NaN, first = NaN] = (metadata.annotations?.[POOL_SEQUENCE_ANNOTATION] ?? "").split("/").map(Number);
  const isPlace = Number.isInteger(number) && Number.isInteger(first) && first > 0 && number <= LAST_NUMBER;
  return isPlace && first <= number && number - first < MOST_MADE ? { number, first } : undefined;
}

/** Writes a place as the annotation's value. */
export function placeText({ number, first }: Place): string {
  return `${number}/${first}`;
}

/**
 * Returns the name of the pool's member of that number, a DNS label. Who only sees names cannot tell the next one: it could
 * be taken by a claim of that name, whose own Sandbox would have it.
 */
export function memberName(pool: SandboxWarmPool, number: number): string {
  // nameHash would let it be told from others.
  const hash = bytesToHex(sha256(utf8ToBytes(`${pool.metadata.uid}/${number}`)));
  return nameInPool(pool, number.toString(36) + hash.slice(0, UNGUESSED));
}

/**
 * Returns the name of the member that takes the place of another in its pool, a DNS label: the same whoever makes it, no
 * number's, and no other member's.
 */
export function replacementName(pool: SandboxWarmPool, { metadata: { uid = "" } }: Sandbox): string {
  // One hash would meet another of a busy pool within a day; no number is as long as two.
  return nameInPool(pool, nameHash(uid) + nameHash(`/${uid}`));
}

/** A pool's name that is too long is cut, dots become dashes, and its hash keeps such names apart. */
function nameInPool(pool: SandboxWarmPool, end: string): string {
  const suffix = `-${end}`;
  const { name } = pool.metadata;
  const label = name.replaceAll(".", "-");
  if (label === name && name.length + suffix.length <= LONGEST_NAME) return name + suffix;
  const mark = `-${nameHash(name)}${suffix}`;
  return label.slice(0, LONGEST_NAME - mark.length).replace(/-+$/, "") + mark;
}

/**
 * Returns the places of new members: they count on from the highest number that is seen or was asked for.
 *
 * @param members all that the pool still owns
 * @param taken names that they cannot have
 */
export function nextPlaces(
  pool: SandboxWarmPool,
  members: readonly Sandbox[],
  count: number,
  taken: ReadonlySet<string>,
  now: Date,
): Place[] {
  const numbers: number[] = [];
  for (let number = (highest(pool, members) || firstNumber(pool, now)) + 1; numbers.length < count; number++) {
    if (!taken.has(memberName(pool, number))) numbers.push(number);
  }
  return numbers.map((number) => ({ number, first: numbers[0] ?? number }));
}

/**
 * Returns what the pool's status says of its numbers: the highest that is seen or asked for, and what the status was seen
 * to say of that.
 *
 * Metacontroller writes the status after the members: whoever sees it may trust that they were asked for. But a view of
 * the pool that is older than its status takes a number back if the member that has it is gone by then: only what was
 * seen to be counted stays counted, and may go.
 */
export function numbersOf(
  pool: SandboxWarmPool,
  members: readonly Sandbox[],
  made: readonly Place[],
): Pick<SandboxWarmPoolStatus, "sequence" | "observedSequence"> {
  const sequence = made.at(-1)?.number ?? highest(pool, members);
  return sequence > 0 ? { sequence, observedSequence: pool.status?.sequence ?? 0 } : {};
}

/**
 * Returns up to which number members may go, or be given to claims, without the next one having their name: the status
 * was seen to have been seen counting so far. What it was seen to count once, an answer from an older view may have taken
 * back since.
 */
export function countedUpTo({ status }: SandboxWarmPool): number {
  // Hooks of earlier builds do not say what they saw.
  const { sequence = 0, observedSequence = sequence } = status ?? {};
  return observedSequence;
}

function highest(pool: SandboxWarmPool, members: readonly Sandbox[]): number {
  const { sequence = 0 } = pool.status ?? {};
  const counted = sequence <= LAST_NUMBER ? sequence : 0;
  return members.reduce((most, member) => Math.max(most, placeOf(member)?.number ?? 0), counted);
}

/**
 * A pool without a past begins at the milliseconds of its birth, so that one of the same name does not use the names of
 * the one before it. Births are whole seconds: the UID tells those of one second apart.
 */
function firstNumber({ metadata }: SandboxWarmPool, now: Date): number {
  const born = Date.parse(metadata.creationTimestamp ?? "");
  return Number.isNaN(born) ? now.getTime() : born + Number.parseInt(nameHash(metadata.uid ?? ""), 16) % 1000;
}
