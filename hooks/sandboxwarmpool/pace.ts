/** How often a pool's status is written: counts that change with every claim are worth a write a second, no more. @module */
import type { Sandbox } from "../../api/sandbox.ts";
import type { SandboxWarmPool, SandboxWarmPoolStatus } from "../../api/sandboxwarmpool.ts";
import { sameJson } from "../../lib/apply.ts";
import type { PoolMemory } from "./memory.ts";
import { placeOf } from "./sequence.ts";

const PACE_MS = 1000;

/**
 * Returns the status to answer with, and in how many seconds to look again if that is not the newest.
 *
 * A change is held back only while the pool is seen to have the status that this process told last, less than a second
 * ago and for the same generation. So the first change after a second of rest is told at once, and whoever has no memory
 * tells everything.
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
  const isStored = told !== undefined && sameJson(stored, told.status) &&
    observedGeneration === pool.metadata.generation;
  const left = told === undefined ? 0 : told.at + PACE_MS - now.getTime();
  const isCounted = leaving.every((sandbox) => (placeOf(sandbox)?.number ?? 0) <= (stored.sequence ?? 0));
  if (sameJson(stored, status)) return { status };
  if (isStored && isCounted && left > 0 && left <= PACE_MS) return { status: told.status, again: left / 1000 };
  memory.told = { status, at: now.getTime() };
  return { status };
}
