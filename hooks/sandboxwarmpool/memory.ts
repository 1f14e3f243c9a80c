/**
 * What the hook remembers of a pool from one call to the next. All of it is for speed: a process that has lost it, or a
 * second one that never had it, gives a claim a second Sandbox at worst, which the claim gives back. @module
 */
import type { SandboxWarmPoolStatus } from "../../api/sandboxwarmpool.ts";

/** A claim was answered with this Sandbox. */
export interface Assignment {
  uid: string;
  name: string;
  /** As it was when it was handed over. */
  resourceVersion: string | undefined;
  /** Milliseconds since the epoch. */
  at: number;
}

/** The memory of one pool. */
export interface PoolMemory {
  /** By UID of the claim. */
  assignments: Map<string, Assignment>;
  /** By UID of the claim: when a Sandbox of its own was asked for, milliseconds since the epoch. */
  asked: Map<string, number>;
  /** Highest number of a member seen, or where the numbers begin; 0: neither. */
  sequence: number;
  /** The numbers that were asked for last: those beyond `after`, from when on; undefined: none yet. */
  tried: { after: number; last: number; at: number } | undefined;
  /** Members that may still be made now, where there is a rate; and when that was counted. */
  tokens: number;
  tokensAt: number;
  /** Members at the last call, and when they last became fewer; times in milliseconds since the epoch. */
  active: number;
  droppedAt: number;
  /** What the last answer rested on, and how many in a row have rested on the same. */
  stood: { on: string; times: number };
  /** When the pool was last brought to size rather than claims served. */
  maintainedAt: number;
  /** The last status that was news, and when it was answered; undefined: none yet. */
  told: { status: SandboxWarmPoolStatus; at: number } | undefined;
  /** Since when the pool has had fewer members than were told, milliseconds since the epoch; undefined: it has not. */
  fewerSince: number | undefined;
}

/** The memories of all pools, by UID. */
export type Memories = Map<string, PoolMemory>;

/** Pools remembered; of more, those not called for longest are forgotten. */
const MOST_POOLS = 1000;
/** How long an assignment keeps its claim from being given another Sandbox. */
const ASSIGNMENT_MS = 10_000;
/** How long a Sandbox that was asked for may take to show up before it is asked for again. */
const ASKED_MS = 1000;

/** Returns the memory of a pool, empty if it is new. */
export function recall(memories: Memories, uid: string, now: number): PoolMemory {
  const memory = memories.get(uid) ?? forgotten(now);
  memories.delete(uid);
  memories.set(uid, memory);
  if (memories.size > MOST_POOLS) memories.delete(memories.keys().next().value ?? "");
  for (const [claim, { at }] of memory.assignments) if (now - at >= ASSIGNMENT_MS) memory.assignments.delete(claim);
  for (const [claim, at] of memory.asked) if (now - at >= ASKED_MS) memory.asked.delete(claim);
  return memory;
}

/** A memory without a past. */
export function forgotten(now: number): PoolMemory {
  return {
    assignments: new Map(),
    asked: new Map(),
    sequence: 0,
    tried: undefined,
    tokens: Infinity,
    tokensAt: now,
    active: 0,
    droppedAt: -Infinity,
    stood: { on: "", times: 0 },
    maintainedAt: now,
    told: undefined,
    fewerSince: undefined,
  };
}
