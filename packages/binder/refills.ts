/**
 * Decides when to notify a pool that it has too few members: early if few are left, and preferably not while claims
 * wait.
 * @module
 */
import type { SandboxWarmPool } from "../api/sandboxwarmpool.ts";
import type { Clock } from "../process/clock.ts";
import { createWorkQueue } from "../kube/workqueue.ts";

/** The state of a pool that decides when to notify it. */
export interface Shortage {
  pool: SandboxWarmPool;
  /** Whether the pool's template exists and its policy is in force. Otherwise no member can be created. */
  hasTemplate: boolean;
  /** Whether the pool has lost members to claims since it was last notified. */
  hasLost: boolean;
  /** Number of members, including those that the binder is creating. */
  members: number;
  /** Number of members that are Ready. */
  ready: number;
  /** Number of claims that wait for this pool. */
  waiting: number;
  /** Whether so many claims wait, of any pools, that serving them is more urgent. */
  isBusy: boolean;
  /** Whether the counts in the pool's status differ from the members: the pool may not have been synced for a long time. */
  isBehind: boolean;
}

export interface Refills {
  /** Checks a pool again. Call when its members or the pool have changed. */
  look(namespace: string, name: string): void;
  stop(): void;
}

export interface RefillsOptions {
  clock: Clock;
  /** Returns the state of a pool; undefined if the pool is gone. */
  shortageOf(namespace: string, name: string): Shortage | undefined;
  /** Notifies the pool. Never rejects. */
  notify(shortage: Shortage): Promise<void>;
}

/** Delay before a pool is notified again if nothing has changed. It doubles each time, from `least` to `most`. */
const AGAIN_MS = { least: 2000, most: 60_000 };
/** Bindings within this time lead to one notification, even if the pool is empty. */
const LEAST_MS = 50;
/** Longest delay between the first missing member and the notification. */
const MOST_MS = 5000;
/** Pools that are notified at the same time. A binder that begins to lead may find thousands that need it. */
const MAX_CONCURRENT = 4;
/** How often to check whether claims are still waiting. */
const BUSY_MS = 100;

interface Plan {
  /** Since when the pool has been short without a notification. */
  since: number;
  /** Number of members at the last notification; undefined if there was none. */
  notifiedMembers: number | undefined;
  /** Delay before the notification is repeated. */
  againMs: number;
  cancel: () => void;
}

/** Creates the function that checks pools, without any plan. */
export function createRefills(options: RefillsOptions): Refills {
  const { clock, shortageOf, notify } = options;
  const plans = new Map<string, Plan>();
  const turns = createWorkQueue(MAX_CONCURRENT);

  /** Checks again, because by the time of its turn, the pool may have enough members. */
  async function notifyIfShort(namespace: string, name: string): Promise<void> {
    const shortage = shortageOf(namespace, name);
    if (shortage && isShort(shortage)) await notify(shortage);
  }

  function look(namespace: string, name: string): void {
    const key = `${namespace}/${name}`;
    const shortage = shortageOf(namespace, name);
    const plan = plans.get(key);
    plan?.cancel();
    if (!shortage || !isShort(shortage)) return void plans.delete(key);
    const now = clock.now();
    const next = plan ?? { since: now, notifiedMembers: undefined, againMs: AGAIN_MS.least, cancel: () => {} };
    // Fewer members than at the last notification: notify again. More members: the pool is being filled.
    if (next.notifiedMembers !== undefined && shortage.members !== next.notifiedMembers) {
      if (shortage.members < next.notifiedMembers) {
        Object.assign(next, { since: now, againMs: AGAIN_MS.least, notifiedMembers: undefined });
      } else next.notifiedMembers = shortage.members;
    }
    plans.set(key, next);
    const due = next.notifiedMembers === undefined
      ? next.since + (isLacking(shortage) ? refillDelay(shortage) : BEHIND_MS)
      : next.since + next.againMs;
    const wait = due - now;
    if (wait > 0) {
      const step = next.notifiedMembers === undefined && shortage.isBusy ? Math.min(wait, BUSY_MS) : wait;
      next.cancel = clock.setTimeout(() => look(namespace, name), step);
      return;
    }
    const isRepeated = next.notifiedMembers !== undefined;
    next.againMs = isRepeated ? Math.min(next.againMs * 2, AGAIN_MS.most) : AGAIN_MS.least;
    next.since = now;
    next.notifiedMembers = shortage.members;
    next.cancel = clock.setTimeout(() => look(namespace, name), next.againMs);
    turns.add(namespace, name, () => notifyIfShort(namespace, name), shortage.hasLost);
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
 * Returns the delay between the first missing member of a pool and the notification, in milliseconds.
 *
 * | claims that wait | Ready members left | delay |
 * |---|---|---|
 * | many, of any pools | enough for this pool's claims | the longest |
 * | any number | not enough for this pool's claims | the shortest |
 * | few | none to all of `replicas` | the shortest to a second |
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

/**
 * Delay if the pool lacks no members, but its counts are outdated. Usually the pool counts its members within a second
 * or two, unless its hook was down.
 */
const BEHIND_MS = 5000;
/** Delay if no claims wait and the pool is almost full. */
const CALM_MS = 1000;

function isLacking({ pool, hasTemplate, members }: Shortage): boolean {
  return hasTemplate && members < pool.spec.replicas;
}

function isShort(shortage: Shortage): boolean {
  return shortage.pool.metadata.deletionTimestamp === undefined && (isLacking(shortage) || shortage.isBehind);
}
