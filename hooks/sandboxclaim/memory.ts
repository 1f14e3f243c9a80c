/**
 * What the hook remembers of a claim from one call to the next: times alone. A process that has lost it says a later
 * time, and waits a second more before it believes that a Sandbox is gone. @module
 */

/** The memory of one claim; milliseconds since the epoch. */
export interface ClaimMemory {
  /** When the claim was first seen. */
  firstSeen: number;
  /** Since when its Sandbox has been missing; undefined while it is there. */
  missingSince: number | undefined;
}

/** The memories of all claims, by UID. */
export type Memories = Map<string, ClaimMemory>;

/** Claims remembered; of more, those not called for longest are forgotten. */
const MOST_CLAIMS = 10_000;

/** Returns the memory of a claim, a new one if it is seen for the first time. */
export function recall(memories: Memories, uid: string, now: number): ClaimMemory {
  const memory = memories.get(uid) ?? { firstSeen: now, missingSince: undefined };
  memories.delete(uid);
  memories.set(uid, memory);
  if (memories.size > MOST_CLAIMS) memories.delete(memories.keys().next().value ?? "");
  return memory;
}
