/** The scheduling queue: a line of claims for each pool, the oldest first, served in turns by namespace and pool. @module */
import { type FairQueue, takeInTurn } from "../kube/workqueue.ts";

/** Something that waits. */
export interface Waiter {
  uid: string;
  namespace: string;
  /** Name of the pool. */
  pool: string;
  /** Sorts within the line. */
  rank: string;
}

/** The line of one pool. */
export interface Line<T extends Waiter> {
  namespace: string;
  pool: string;
  /** Oldest first. */
  waiters: T[];
}

export interface SchedulingQueue<T extends Waiter> {
  add(waiter: T): void;
  remove(waiter: T): void;
  /** The line of a pool; undefined: nobody waits there. */
  find(namespace: string, pool: string): Line<T> | undefined;
  /** Has a line looked at again: a claim has come, or something has changed for those that wait. False: nobody waits there. */
  wake(namespace: string, pool: string): boolean;
  /**
   * Goes round by namespace, and within it by pool, until `serve` takes a waiter out of a line and returns something;
   * undefined: from none. A line from which it takes nothing is not looked at until it is woken.
   */
  take<Taken>(serve: (line: Line<T>) => Taken | undefined): Taken | undefined;
  /** One of its claims is being served no more. */
  done(waiter: T): void;
  /** How many wait in lines that are still to be looked at: the others wait for something that has to change first. */
  pending(): number;
}

interface NamespaceLines<T extends Waiter> {
  namespace: string;
  /** By pool; none is empty. */
  lines: Map<string, Line<T>>;
  /** Those that are to be looked at, by pool. */
  active: FairQueue<Line<T>>;
  /** How many claims are being served. */
  serving: number;
}

/** Makes it, empty. @param mostOfOne how many claims of one namespace, and so of one pool, may be served at once */
export function createSchedulingQueue<T extends Waiter>(mostOfOne: number): SchedulingQueue<T> {
  const namespaces = new Map<string, NamespaceLines<T>>();
  /** Namespaces with lines that are to be looked at. */
  const active: FairQueue<NamespaceLines<T>> = new Map();

  function wake(namespace: string, pool: string): boolean {
    const own = namespaces.get(namespace);
    const line = own?.lines.get(pool);
    if (!own || !line) return false;
    own.active.set(pool, line);
    active.set(namespace, own);
    return true;
  }

  function tidy(own: NamespaceLines<T>): void {
    if (own.active.size === 0) active.delete(own.namespace);
    if (own.lines.size === 0 && own.serving === 0) namespaces.delete(own.namespace);
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
      const own = namespaces.get(namespace) ?? { namespace, lines: new Map(), active: new Map(), serving: 0 };
      const line = own.lines.get(pool) ?? { namespace, pool, waiters: [] };
      line.waiters.splice(placeIn(line.waiters, rank), 0, waiter);
      namespaces.set(namespace, own);
      own.lines.set(pool, line);
      wake(namespace, pool);
    },
    remove(waiter) {
      const { namespace, pool } = waiter;
      const own = namespaces.get(namespace);
      const line = own?.lines.get(pool);
      const index = line?.waiters.indexOf(waiter) ?? -1;
      if (!own || !line || index < 0) return;
      line.waiters.splice(index, 1);
      if (line.waiters.length > 0) return;
      own.lines.delete(pool);
      own.active.delete(pool);
      tidy(own);
    },
    find: (namespace, pool) => namespaces.get(namespace)?.lines.get(pool),
    wake,
    take: (serve) =>
      takeInTurn(active, {
        isHeld: ({ serving }) => serving >= mostOfOne,
        isEmpty: (own) => own.active.size === 0,
        take(own) {
          // Counted before it is known: `serve` takes out the last line, and what is counted has to stay.
          own.serving++;
          const taken = takeInTurn(own.active, { take: serve, isEmpty: ({ waiters }) => waiters.length === 0 });
          if (taken === undefined) done(own);
          return taken;
        },
      }),
    done,
    pending() {
      let count = 0;
      for (const own of active.values()) for (const line of own.active.values()) count += line.waiters.length;
      return count;
    },
  };
}

/** Names a pool in maps: by namespace and name. */
export function keyOf(namespace: string, pool: string): string {
  return `${namespace}/${pool}`;
}

/** Where an entry of that rank is, or belongs, in a sorted list. */
export function placeIn(sorted: readonly { rank: string }[], rank: string): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle]?.rank ?? "") < rank) low = middle + 1;
    else high = middle;
  }
  return low;
}
