/** The SandboxWarmPool hook: serves claims first, then brings the pool to size. Sends nothing, reads no clock. @module */
import type { Sandbox } from "../../api/sandbox.ts";
import type { SandboxWarmPool, SandboxWarmPoolStatus } from "../../api/sandboxwarmpool.ts";
import { DRAINING_LABEL } from "../../lib/keys.ts";
import { childKey, type Desired, type Observed } from "../../lib/metacontroller.ts";
import { allocate, type Allocation } from "./allocate.ts";
import { appliedOf } from "./applied.ts";
import type { WarmPoolConfig } from "./config.ts";
import { type Drain, DRAIN_WORDS, drainsOf } from "./drain.ts";
import { handedOver } from "./handover.ts";
import { paced } from "./pace.ts";
import { type Memories, type PoolMemory, recall } from "./memory.ts";
import { nextLook, SOON } from "./nextlook.ts";
import { noteMembers, type Refill, refillOf } from "./refill.ts";
import { buildCold, buildMember, type PoolSandbox } from "./sandbox.ts";
import { highestNumber, nextPlaces } from "./sequence.ts";
import { computeStatus } from "./status.ts";
import { type View, viewOf } from "./view.ts";

/** While claims keep coming the pool is brought to size this often all the same. */
const MAINTENANCE_MS = 500;

/**
 * Decides the Sandboxes and the status of one pool.
 *
 * @param memories for speed only: see memory.ts
 * @throws {RangeError} if the controller lacks its child rule or its customize hook
 */
export function syncSandboxWarmPool(
  observed: Observed<SandboxWarmPool>,
  now: Date,
  config: WarmPoolConfig,
  memories: Memories,
): Desired<SandboxWarmPoolStatus> {
  const view = viewOf(observed, now);
  const { pool } = view;
  if (pool.metadata.deletionTimestamp !== undefined) return untouched(view);
  const memory = recall(memories, pool.metadata.uid ?? "", now.getTime());
  const allocation = allocate(view, config, memory, now);
  const isServing = allocation.handed.length + allocation.cold.length > 0;
  noteMembers(memory, view.members.length, now);
  const isDue = !isServing || now.getTime() - memory.maintainedAt >= MAINTENANCE_MS;
  if (isDue) memory.maintainedAt = now.getTime();
  const drains = isDue ? drainsOf(view, config, memory, now) : [];
  const refill = isDue ? refillOf(view, config, memory, isServing, now) : { count: 0, again: SOON };
  const leaving = [...allocation.handed.map(({ sandbox }) => sandbox), ...view.draining];
  const status = computeStatus(view, config, now);
  const telling = paced(status, pool, leaving, memory, now);
  const children = [...kept(view, allocation, drains, now), ...created(view, allocation, refill, memory, now)];
  const next = nextLook({ view, allocation, refill, memory }, config, now);
  return {
    status: telling.status,
    children,
    deletions: Object.fromEntries(view.draining.map((sandbox) => [childKey(sandbox), wordsFor(sandbox)])),
    resyncAfterSeconds: Math.min(next, telling.again ?? next),
  };
}

/** Answers with every Sandbox that stays, unchanged but for those that are handed over or, if not that, marked. */
function kept(view: View, { handed }: Allocation, drains: Drain[], now: Date): PoolSandbox[] {
  const claims = new Map(handed.map(({ sandbox, claim }) => [sandbox, claim]));
  const reasons = new Map(drains.map(({ sandbox, reason }) => [sandbox, reason]));
  return [...view.members, ...view.cold, ...view.returned].map((sandbox) => {
    const claim = claims.get(sandbox);
    const reason = reasons.get(sandbox);
    if (claim) return handedOver(view, sandbox, claim, now);
    const applied = appliedOf(sandbox, view.pool);
    return reason ? marked(applied, reason) : applied;
  });
}

function created(view: View, { cold }: Allocation, { count }: Refill, memory: PoolMemory, now: Date): PoolSandbox[] {
  const { pool, template, members, draining, terminating } = view;
  const after = highestNumber(pool, [...members, ...draining, ...terminating], memory, now);
  if (!template) return [];
  const observed = [members, view.cold, view.returned, draining, terminating].flat();
  const taken = new Set([...observed, ...cold].map(({ metadata }) => metadata.name));
  const places = nextPlaces(pool, { after, count }, taken, memory, now);
  return [
    ...cold.map((claim) => buildCold(pool, template, claim)),
    ...places.map((place) => buildMember(pool, template, place)),
  ];
}

function marked(applied: PoolSandbox, reason: string): PoolSandbox {
  return {
    ...applied,
    metadata: { ...applied.metadata, labels: { ...applied.metadata.labels, [DRAINING_LABEL]: reason } },
  };
}

function wordsFor({ metadata }: Sandbox): string {
  const reason = metadata.labels?.[DRAINING_LABEL] ?? "";
  return DRAIN_WORDS[reason] ?? reason;
}

/** A pool that is being deleted leaves its members to the garbage collector. */
function untouched(view: View): Desired<SandboxWarmPoolStatus> {
  const all = [...view.members, ...view.cold, ...view.returned, ...view.draining];
  return { status: { ...view.pool.status }, children: all.map((sandbox) => appliedOf(sandbox, view.pool)) };
}
