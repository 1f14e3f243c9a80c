/** When pools are told that they are short of members: soon where they run low, and never while claims wait if it can be helped. @module */
import type { SandboxWarmPool } from "../api/sandboxwarmpool.ts";
import type { Clock } from "../process/clock.ts";
import { createWorkQueue } from "../kube/workqueue.ts";

/** What decides when a pool is told. */
export interface Shortage {
  pool: SandboxWarmPool;
  /** Whether its template is there: without it no member can be made. */
  hasTemplate: boolean;
  /** Whether it was not told yet of members that it has lost to claims. */
  hasLost: boolean;
  /** Members that it has, and those that the binder is making. */
  members: number;
  /** Those of them that claims can have at once. */
  ready: number;
  /** Claims that wait for them. */
  waiting: number;
  /** Whether claims, of whichever pool, wait for longer than a moment: to serve them is more urgent. */
  isBusy: boolean;
  /** Whether the pool's status counts others than there are: it may not have been looked at for long. */
  isBehind: boolean;
}

export interface Refills {
  /** Looks at a pool again: its members have changed, or it has. */
  look(namespace: string, name: string): void;
  stop(): void;
}

export interface RefillsOptions {
  clock: Clock;
  /** How a pool stands; undefined: it is gone. */
  shortageOf(namespace: string, name: string): Shortage | undefined;
  /** Tells the pool. Never fails. */
  tell(pool: SandboxWarmPool): Promise<void>;
}

/** From being told until told again if nothing has come of it, doubled each time up to the second. */
const AGAIN_MS = { least: 2000, most: 60_000 };
/** Hand-overs of this long are told together, however low the pool. */
const LEAST_MS = 50;
/** Longest time from the first member that is missing until the pool is told. */
const MOST_MS = 5000;
/** Pools that are told at once: a binder that begins to serve may find thousands. */
const MOST_TOLD = 4;
/** How often it is looked whether claims still wait. */
const BUSY_MS = 100;

interface Plan {
  /** Since when the pool has been short, as far as it was not told. */
  since: number;
  /** How many members it had when it was told last; undefined: it was not. */
  told: number | undefined;
  /** How long to wait before it is told the same again. */
  againMs: number;
  cancel: () => void;
}

/** Makes the plans, none at first. */
export function createRefills(options: RefillsOptions): Refills {
  const { clock, shortageOf, tell } = options;
  const plans = new Map<string, Plan>();
  const turns = createWorkQueue(MOST_TOLD);

  /** Its turn may come late, when nothing is missing any more. */
  async function tellStill(namespace: string, name: string): Promise<void> {
    const shortage = shortageOf(namespace, name);
    if (shortage && isShort(shortage)) await tell(shortage.pool);
  }

  function look(namespace: string, name: string): void {
    const key = `${namespace}/${name}`;
    const shortage = shortageOf(namespace, name);
    const plan = plans.get(key);
    plan?.cancel();
    if (!shortage || !isShort(shortage)) return void plans.delete(key);
    const now = clock.now();
    const next = plan ?? { since: now, told: undefined, againMs: AGAIN_MS.least, cancel: () => {} };
    // Fewer than when it was told: that is news. More: it is being filled, and comes by itself.
    if (next.told !== undefined && shortage.members !== next.told) {
      if (shortage.members < next.told) Object.assign(next, { since: now, againMs: AGAIN_MS.least, told: undefined });
      else next.told = shortage.members;
    }
    plans.set(key, next);
    const due = next.told === undefined
      ? next.since + (isLacking(shortage) ? refillDelay(shortage) : BEHIND_MS)
      : next.since + next.againMs;
    const wait = due - now;
    if (wait > 0) {
      const step = next.told === undefined && shortage.isBusy ? Math.min(wait, BUSY_MS) : wait;
      next.cancel = clock.setTimeout(() => look(namespace, name), step);
      return;
    }
    const isRepeated = next.told !== undefined;
    next.againMs = isRepeated ? Math.min(next.againMs * 2, AGAIN_MS.most) : AGAIN_MS.least;
    next.since = now;
    next.told = shortage.members;
    next.cancel = clock.setTimeout(() => look(namespace, name), next.againMs);
    turns.add(namespace, name, () => tellStill(namespace, name), shortage.hasLost);
  }

  return {
    look,
    stop() {
      for (const { cancel } of plans.values()) cancel();
      plans.clear();
      turns.clear();
    },
  };
}

/**
 * Returns how long after the first missing member a pool is told, in milliseconds.
 *
 * | claims wait | members left | delay |
 * |---|---|---|
 * | many, of any pool | enough for those of this one | the longest |
 * | any | not enough for those of this one | the shortest |
 * | few | all to none | a second to the shortest |
 */
export function refillDelay(
  { pool, ready, waiting, isBusy }: Pick<Shortage, "ready" | "waiting" | "isBusy"> & {
    pool: { spec: { replicas: number } };
  },
): number {
  if (ready < waiting) return LEAST_MS;
  if (isBusy) return MOST_MS;
  const left = Math.min(1, ready / Math.max(1, pool.spec.replicas));
  return Math.max(LEAST_MS, CALM_MS * left);
}

/** A pool that is short of nothing counts its members by itself within a second or two, unless its hook was down. */
const BEHIND_MS = 5000;
/** Where nobody waits and the pool is almost full. */
const CALM_MS = 1000;

function isLacking({ pool, hasTemplate, members }: Shortage): boolean {
  return hasTemplate && members < pool.spec.replicas;
}

function isShort(shortage: Shortage): boolean {
  return shortage.pool.metadata.deletionTimestamp === undefined && (isLacking(shortage) || shortage.isBehind);
}
