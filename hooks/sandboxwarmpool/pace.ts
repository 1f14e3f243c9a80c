/** How often a pool's status is written: what changes with every claim is worth a write a second at most. @module */
import type { Sandbox } from "../../api/sandbox.ts";
import type { SandboxWarmPool, SandboxWarmPoolStatus } from "../../api/sandboxwarmpool.ts";
import { sameJson } from "../../lib/apply.ts";
import { findCondition } from "../../lib/conditions.ts";
import type { PoolMemory } from "./memory.ts";
import { placeOf } from "./sequence.ts";

/** Between two writes; and how long a pool may lack what it had before that is news. */
const PACE_MS = 1000;
/** How long the number that names count on from may be held back if nothing else is news: members show it, too. */
const SEQUENCE_MS = 60_000;

/**
 * Returns the status to answer with, and in how many seconds to look again if that is not the newest.
 *
 * | what has changed | is told |
 * |---|---|
 * | nothing that is stored was told by this process, or the generation | at once |
 * | members are fewer, and nothing else | a second after it began, if it lasts: most often a claim's is replaced by then |
 * | only the number that names count on from | a minute after the last write, if nothing else comes |
 * | anything else | at once after a second of rest, else once that second is over |
 *
 * A change is held back only while the pool is seen to have the status that this process told last: to answer with an
 * older one would have Metacontroller, which compares with what is stored, write it back.
 *
 * @param leaving Sandboxes that the pool gives away or deletes: names count on from `sequence`, so theirs have to be in it
 */
export function paced(
  status: SandboxWarmPoolStatus,
  pool: SandboxWarmPool,
  leaving: readonly Sandbox[],
  memory: PoolMemory,
  now: Date,
): { status: SandboxWarmPoolStatus; again?: number } {
  const { told } = memory;
  const { observedGeneration, ...stored } = pool.status ?? {};
  if (sameJson(stored, status)) {
    memory.fewerSince = undefined;
    return { status };
  }
  const isStored = told !== undefined && sameJson(stored, told.status) &&
    observedGeneration === pool.metadata.generation;
  const isCounted = leaving.every((sandbox) => (placeOf(sandbox)?.number ?? 0) <= (stored.sequence ?? 0));
  if (isStored && isCounted) {
    const { from, ms } = restOf(told, status, memory, now);
    const left = from + ms - now.getTime();
    // More than that is left where the clock was set back: nobody knows when it will be over.
    if (left > 0 && left <= ms) return { status: told.status, again: left / 1000 };
  }
  memory.told = { status, at: now.getTime() };
  memory.fewerSince = undefined;
  return { status };
}

/** Since when, in milliseconds since the epoch, a change is held back, and for how long. */
function restOf(
  told: NonNullable<PoolMemory["told"]>,
  status: SandboxWarmPoolStatus,
  memory: PoolMemory,
  now: Date,
): { from: number; ms: number } {
  memory.fewerSince = isFewer(told.status, status) ? memory.fewerSince ?? now.getTime() : undefined;
  const isNumberOnly = sameJson({ ...told.status, sequence: 0 }, { ...status, sequence: 0 });
  if (isNumberOnly) return { from: told.at, ms: SEQUENCE_MS };
  return { from: Math.max(told.at, memory.fewerSince ?? 0), ms: PACE_MS };
}

/** Whether members have gone or are not Ready any more, and nothing but that is on its way. */
function isFewer(told: SandboxWarmPoolStatus, status: SandboxWarmPoolStatus): boolean {
  const { replicas = 0, readyReplicas = 0 } = status;
  const isLess = replicas <= (told.replicas ?? 0) && readyReplicas < (told.readyReplicas ?? 0);
  const reason = findCondition(status.conditions, "Progressing")?.reason;
  return isLess && (reason === "Full" || reason === "Filling");
}
