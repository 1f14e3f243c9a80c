/**
 * Gives a pool's members their numbers and names. Numbers grow and are never used twice. If the cache is stale, the
 * hook therefore asks for the same names again, instead of for more members. @module
 */
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import type { Sandbox } from "../../packages/api/sandbox.ts";
import type { SandboxWarmPool, SandboxWarmPoolStatus } from "../../packages/api/sandboxwarmpool.ts";
import { POOL_SEQUENCE_ANNOTATION } from "../../packages/api/objects/keys.ts";
import { nameHash } from "../../packages/api/objects/names.ts";

/** A member's number, and the number of the first member that was created together with it. */
export interface Place {
  number: number;
  first: number;
}

/** The Service has the Sandbox's name, and must have a DNS label as its name. */
const LONGEST_NAME = 63;
/** Number of characters in a name that depend on the pool's UID. */
const UNGUESSED = 5;
/** One answer creates at most this many members. */
export const MOST_MADE = 1000;
/**
 * Higher numbers are invalid. Above about this number, JavaScript's numbers are not exact: n + 1 can be equal to n. No
 * pool needs so many.
 */
const LAST_NUMBER = 2 ** 52;

/** Reads a member's place; undefined: another controller created the member, or the annotation is invalid. */
export function placeOf({ metadata }: Sandbox): Place | undefined {
  const [number = NaN, first = NaN] = (metadata.annotations?.[POOL_SEQUENCE_ANNOTATION] ?? "").split("/").map(Number);
  const isPlace = Number.isInteger(number) && Number.isInteger(first) && first > 0 && number <= LAST_NUMBER;
  return isPlace && first <= number && number - first < MOST_MADE ? { number, first } : undefined;
}

/** Returns a place as the value of the annotation. */
export function placeText({ number, first }: Place): string {
  return `${number}/${first}`;
}

/**
 * Returns the name of the pool's member with this number, a DNS label. If you see only the names of members, you cannot
 * guess the next one. Otherwise a claim with the guessed name could be created, and its own Sandbox would take the
 * name.
 */
export function memberName(pool: SandboxWarmPool, number: number): string {
  // With nameHash, the next name could be computed from other names.
  const hash = bytesToHex(sha256(utf8ToBytes(`${pool.metadata.uid}/${number}`)));
  return nameInPool(pool, number.toString(36) + hash.slice(0, UNGUESSED));
}

/**
 * Returns the name of the member that replaces another one in its pool, a DNS label. The name is the same in every
 * process that computes it. It differs from the names of members with numbers, and of other replacements.
 */
export function replacementName(pool: SandboxWarmPool, { metadata: { uid = "" } }: Sandbox): string {
  // A single hash would collide in a busy pool within a day. Two hashes do not, and they are longer than any number.
  return nameInPool(pool, nameHash(uid) + nameHash(`/${uid}`));
}

/**
 * If the pool's name is too long, it is cut, and dots become dashes. The hash of the name then keeps such names
 * different.
 */
function nameInPool(pool: SandboxWarmPool, end: string): string {
  const suffix = `-${end}`;
  const { name } = pool.metadata;
  const label = name.replaceAll(".", "-");
  if (label === name && name.length + suffix.length <= LONGEST_NAME) return name + suffix;
  const mark = `-${nameHash(name)}${suffix}`;
  return label.slice(0, LONGEST_NAME - mark.length).replace(/-+$/, "") + mark;
}

/**
 * Returns the places of new members. They continue from the highest number that is observed or was asked for.
 *
 * @param members all Sandboxes that the pool still owns
 * @param taken names that the new members cannot have
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
 * Returns the numbers for the pool's status. `sequence` is the highest number that is observed or asked for,
 * `arrivedSequence` the highest that is observed, and `observedSequence` the `arrivedSequence` that this call has
 * observed in the status.
 *
 * Metacontroller writes the status after the members, but also if creating a member has failed. So `sequence` does not
 * tell whether a request for the member is still on its way: it could create the member again after it was bound and
 * deleted. Once Metacontroller has observed the member, it asks for it no more. And a call with a view of the pool that
 * is older than its status could lower both numbers, if the member is already gone. Only numbers up to
 * `observedSequence` cannot be lost: members with these numbers may be deleted or bound.
 */
export function numbersOf(
  pool: SandboxWarmPool,
  members: readonly Sandbox[],
  made: readonly Place[],
): Pick<SandboxWarmPoolStatus, "sequence" | "arrivedSequence" | "observedSequence"> {
  const { status } = pool;
  const sequence = made.at(-1)?.number ?? highest(pool, members);
  if (sequence === 0) return {};
  const arrivedSequence = highestOf(members, status?.arrivedSequence);
  return { sequence, arrivedSequence, observedSequence: arrivedIn(status) };
}

/**
 * Returns the highest number that a member may have to be deleted or bound to a claim, without a new member getting
 * its name. It is `observedSequence`, because an answer from an older view may have lowered the other numbers.
 */
export function countedUpTo({ status }: SandboxWarmPool): number {
  // Hooks of earlier versions did not write `observedSequence`.
  const { sequence = 0, observedSequence = sequence } = status ?? {};
  return observedSequence;
}

/** Tells whether the status counts members as arrived that may not be bound before the next answer. */
export function isUncounted(status: SandboxWarmPoolStatus): boolean {
  return (status.observedSequence ?? 0) < arrivedIn(status);
}

/** CRDs of earlier versions drop `arrivedSequence`; their pools go by `sequence`. */
function arrivedIn(status: SandboxWarmPoolStatus | undefined): number {
  return status?.arrivedSequence ?? status?.sequence ?? 0;
}

function highest({ status }: SandboxWarmPool, members: readonly Sandbox[]): number {
  return highestOf(members, status?.sequence);
}

/** Returns the highest number of the members, or `known` if it is higher and valid. */
function highestOf(members: readonly Sandbox[], known = 0): number {
  const from = known <= LAST_NUMBER ? known : 0;
  return members.reduce((most, member) => Math.max(most, placeOf(member)?.number ?? 0), from);
}

/**
 * Returns the number before a new pool's first one. It is the time of the pool's creation in milliseconds, so that a
 * new pool of the same name does not use the names of its predecessor. Creation times are whole seconds: a part from
 * the UID makes two pools of one second differ.
 */
function firstNumber({ metadata }: SandboxWarmPool, now: Date): number {
  const born = Date.parse(metadata.creationTimestamp ?? "");
  return Number.isNaN(born) ? now.getTime() : born + Number.parseInt(nameHash(metadata.uid ?? ""), 16) % 1000;
}
