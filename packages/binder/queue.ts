/** The scheduling queue: a line of claims for each pool, the oldest first, served in turns by namespace and pool. @module */
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
   * Goes round by namespace, and within it by pool, until `serve` takes something from a line; false: from none. A line
   * from which it takes nothing is not looked at until it is woken.
   */
  round(serve: (line: Line<T>) => boolean): boolean;
  /** One of its claims is being served no more. */
  done(waiter: T): void;
  /** How many wait in lines that are still to be looked at: the others wait for something that has to change first. */
  pending(): number;
}

/** How many may be served at once of one namespace, and of one pool. */
export interface Caps {
  namespace: number;
  pool: number;
}

interface Turn<T extends Waiter> {
  serving: number;
  /** Lines to be looked at, in order of their turns. */
  lines: Line<T>[];
  servingOf: Map<string, number>;
}

/** Makes it, empty. */
export function createSchedulingQueue<T extends Waiter>(caps: Caps): SchedulingQueue<T> {
  const lines = new Map<string, Line<T>>();
  /** By namespace, in order of their turns. */
  const turns = new Map<string, Turn<T>>();

  function wake(namespace: string, pool: string): boolean {
    const line = lines.get(keyOf(namespace, pool));
    if (!line) return false;
    const turn = turns.get(namespace) ?? { serving: 0, lines: [], servingOf: new Map<string, number>() };
    turns.set(namespace, turn);
    if (!turn.lines.includes(line)) turn.lines.push(line);
    return true;
  }

  function serveOne(turn: Turn<T>, serve: (line: Line<T>) => boolean): boolean {
    for (const line of [...turn.lines]) {
      const serving = turn.servingOf.get(line.pool) ?? 0;
      if (serving >= caps.pool) continue;
      turn.lines.splice(turn.lines.indexOf(line), 1);
      if (!serve(line)) continue;
      turn.serving++;
      turn.servingOf.set(line.pool, serving + 1);
      if (line.waiters.length > 0 && !turn.lines.includes(line)) turn.lines.push(line);
      return true;
    }
    return false;
  }

  function tidy(namespace: string): void {
    const turn = turns.get(namespace);
    if (turn?.serving === 0 && turn.lines.length === 0) turns.delete(namespace);
  }

  return {
    add(waiter) {
      const { namespace, pool, rank } = waiter;
      const line = lines.get(keyOf(namespace, pool)) ?? { namespace, pool, waiters: [] };
      lines.set(keyOf(namespace, pool), line);
      line.waiters.splice(placeIn(line.waiters, rank), 0, waiter);
      wake(namespace, pool);
    },
    remove(waiter) {
      const line = lines.get(keyOf(waiter.namespace, waiter.pool));
      const index = line?.waiters.indexOf(waiter) ?? -1;
      if (!line || index < 0) return;
      line.waiters.splice(index, 1);
      if (line.waiters.length > 0) return;
      lines.delete(keyOf(line.namespace, line.pool));
      const turn = turns.get(line.namespace);
      if (turn?.lines.includes(line)) turn.lines.splice(turn.lines.indexOf(line), 1);
      tidy(line.namespace);
    },
    find: (namespace, pool) => lines.get(keyOf(namespace, pool)),
    wake,
    round(serve) {
      for (const [namespace, turn] of [...turns]) {
        if (turn.serving >= caps.namespace) continue;
        const isServed = serveOne(turn, serve);
        if (isServed) {
          // The next one's turn comes first.
          turns.delete(namespace);
          turns.set(namespace, turn);
          return true;
        }
        tidy(namespace);
      }
      return false;
    },
    done({ namespace, pool }) {
      const turn = turns.get(namespace);
      if (!turn) return;
      turn.serving--;
      const left = (turn.servingOf.get(pool) ?? 1) - 1;
      if (left > 0) turn.servingOf.set(pool, left);
      else turn.servingOf.delete(pool);
      tidy(namespace);
    },
    pending() {
      let count = 0;
      for (const turn of turns.values()) for (const line of turn.lines) count += line.waiters.length;
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
