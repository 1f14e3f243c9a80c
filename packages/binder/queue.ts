/** The scheduling queue: the claims of each pool, oldest first. Namespaces and pools take turns. @module */
import { type FairQueue, takeInTurn } from "../kube/workqueue.ts";

/** A queued claim, as far as the queue needs it. */
export interface Waiter {
  uid: string;
  namespace: string;
  /** Name of the claim's pool. */
  pool: string;
  /** Sort key within the queue of the pool. */
  rank: string;
}

/** The waiting claims of one pool. */
export interface PoolQueue<T extends Waiter> {
  namespace: string;
  pool: string;
  /** Oldest first. */
  waiters: T[];
}

export interface SchedulingQueue<T extends Waiter> {
  add(waiter: T): void;
  remove(waiter: T): void;
  /** Returns the queue of a pool; undefined if no claim waits there. */
  find(namespace: string, pool: string): PoolQueue<T> | undefined;
  /**
   * Marks a queue for the next round: a claim has been added, or something has changed for its claims. Returns false if
   * no claim waits there.
   */
  wake(namespace: string, pool: string): boolean;
  /**
   * Goes through the namespaces in turn, and through the pools of each namespace, until `serve` takes a claim out of a
   * queue and returns a value. Returns that value; undefined if `serve` took a claim from no queue. A queue from which it
   * took nothing is skipped until it is woken.
   */
  take<Taken>(serve: (queue: PoolQueue<T>) => Taken | undefined): Taken | undefined;
  /** Records that a claim is no longer being served. */
  done(waiter: T): void;
  /** Number of claims in queues that are due. Claims in other queues wait until something changes. */
  pending(): number;
}

interface NamespaceLines<T extends Waiter> {
  namespace: string;
  /** By pool. No queue is empty. */
  queues: Map<string, PoolQueue<T>>;
  /** The queues that are due, by pool. */
  active: FairQueue<PoolQueue<T>>;
  /** Number of claims of this namespace that are being served. */
  serving: number;
}

/**
 * Creates an empty queue.
 * @param mostOfOne how many claims of one namespace, and so of one pool, may be served at the same time
 */
export function createSchedulingQueue<T extends Waiter>(mostOfOne: number): SchedulingQueue<T> {
  const namespaces = new Map<string, NamespaceLines<T>>();
  /** Namespaces that have queues which are due. */
  const active: FairQueue<NamespaceLines<T>> = new Map();

  function wake(namespace: string, pool: string): boolean {
    const own = namespaces.get(namespace);
    const queue = own?.queues.get(pool);
    if (!own || !queue) return false;
    own.active.set(pool, queue);
    active.set(namespace, own);
    return true;
  }

  function tidy(own: NamespaceLines<T>): void {
    if (own.active.size === 0) active.delete(own.namespace);
    if (own.queues.size === 0 && own.serving === 0) namespaces.delete(own.namespace);
  }

  function done({ namespace }: Pick<T, "namespace">): void {
    const own = namespaces.get(namespace);
    if (!own) return;
    own.serving--;
    tidy(own);
  }

  return {
    add(waiter) {
      const { namespace, pool, rank } = waiter;
      const own = namespaces.get(namespace) ?? { namespace, queues: new Map(), active: new Map(), serving: 0 };
      const queue = own.queues.get(pool) ?? { namespace, pool, waiters: [] };
      queue.waiters.splice(placeIn(queue.waiters, rank), 0, waiter);
      namespaces.set(namespace, own);
      own.queues.set(pool, queue);
      wake(namespace, pool);
    },
    remove(waiter) {
      const { namespace, pool } = waiter;
      const own = namespaces.get(namespace);
      const queue = own?.queues.get(pool);
      const index = queue?.waiters.indexOf(waiter) ?? -1;
      if (!own || !queue || index < 0) return;
      queue.waiters.splice(index, 1);
      if (queue.waiters.length > 0) return;
      own.queues.delete(pool);
      own.active.delete(pool);
      tidy(own);
    },
    find: (namespace, pool) => namespaces.get(namespace)?.queues.get(pool),
    wake,
    take: (serve) =>
      takeInTurn(active, {
        isHeld: ({ serving }) => serving >= mostOfOne,
        isEmpty: (own) => own.active.size === 0,
        take(own) {
          // Count first: `serve` may take out the last claim, and `tidy` would then remove a namespace with a count of
          // 0.
          own.serving++;
          const taken = takeInTurn(own.active, { take: serve, isEmpty: ({ waiters }) => waiters.length === 0 });
          if (taken === undefined) done(own);
          return taken;
        },
      }),
    done,
    pending() {
      let count = 0;
      for (const own of active.values()) for (const queue of own.active.values()) count += queue.waiters.length;
      return count;
    },
  };
}

/** Returns the map key of a pool: `namespace/name`. */
export function keyOf(namespace: string, pool: string): string {
  return `${namespace}/${pool}`;
}

/** Returns the position of the entry with this rank in a sorted list, or where to insert it. */
export function placeIn(sorted: readonly { rank: string }[], rank: string): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle]?.rank ?? "") < rank) low = middle + 1;
    else high = middle;
  }
  return low;
}
