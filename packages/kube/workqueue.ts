/**
 * Fair queues: groups of waiting items take turns, so that a namespace with much work does not block the others. A work
 * queue also runs the work, with limited concurrency.
 * @module
 */

/** Groups of waiting items, in the order of their turns. Setting a known group keeps its place; a new group comes last. */
export type FairQueue<Group> = Map<string, Group>;

interface Taking<Group, Taken> {
  /** Takes an item from a group; undefined: none can be taken. */
  take(group: Group): Taken | undefined;
  isEmpty(group: Group): boolean;
  /** Returns whether a group must wait; it keeps its place. Absent: no group must. */
  isHeld?(group: Group): boolean;
}

/**
 * Takes an item from the first group that has one, and moves this group to the end unless it is empty. A group from
 * which no item can be taken leaves the queue.
 *
 * @returns undefined if there is nothing to take
 */
export function takeInTurn<Group, Taken>(
  queue: FairQueue<Group>,
  { take, isEmpty, isHeld }: Taking<Group, Taken>,
): Taken | undefined {
  // Visit each group once, even if `take` adds groups again that have left.
  let left = queue.size;
  for (const [key, group] of queue) {
    if (left-- === 0) break;
    if (isHeld?.(group)) continue;
    queue.delete(key);
    const taken = take(group);
    if (taken === undefined) continue;
    if (!isEmpty(group)) queue.set(key, group);
    return taken;
  }
  return undefined;
}

/** Never rejects. */
type Work = () => Promise<void>;

export interface WorkQueue {
  /**
   * Adds work, replacing what waits under the same key, and starts it at once if possible.
   *
   * @param isUrgent urgent work runs before other work of its namespace
   */
  add(namespace: string, key: string, work: Work, isUrgent?: boolean): void;
  /** Removes all work that has not started. */
  clear(): void;
}

/** The work of a namespace, by key. */
interface NamespaceWork {
  namespace: string;
  urgent: Map<string, Work>;
  calm: Map<string, Work>;
}

/**
 * Creates a work queue.
 *
 * @param most how many works run at the same time
 * @param mostOfOne how many of them for one namespace
 */
export function createWorkQueue(most: number, mostOfOne = most): WorkQueue {
  const queue: FairQueue<NamespaceWork> = new Map();
  /** How many works of a namespace run. */
  const running = new Map<string, number>();
  let all = 0;
  const isHeld = ({ namespace }: NamespaceWork) => (running.get(namespace) ?? 0) >= mostOfOne;
  const count = (namespace: string, change: 1 | -1) => {
    const now = (running.get(namespace) ?? 0) + change;
    if (now > 0) running.set(namespace, now);
    else running.delete(namespace);
    all += change;
  };

  function next(): void {
    while (all < most) {
      const taken = takeInTurn(queue, { ...FIRST, isHeld });
      if (!taken) return;
      const { namespace, work } = taken;
      count(namespace, 1);
      void work().then(() => {
        count(namespace, -1);
        next();
      });
    }
  }

  return {
    add(namespace, key, work, isUrgent = false) {
      const own = queue.get(namespace) ?? { namespace, urgent: new Map<string, Work>(), calm: new Map<string, Work>() };
      if (isUrgent) own.calm.delete(key);
      const works = isUrgent || own.urgent.has(key) ? own.urgent : own.calm;
      works.set(key, work);
      queue.set(namespace, own);
      next();
    },
    clear: () => queue.clear(),
  };
}

const FIRST: Taking<NamespaceWork, { namespace: string; work: Work }> = {
  take({ namespace, urgent, calm }) {
    const works = urgent.size > 0 ? urgent : calm;
    for (const [key, work] of works) {
      works.delete(key);
      return { namespace, work };
    }
    return undefined;
  },
  isEmpty: ({ urgent, calm }) => urgent.size + calm.size === 0,
};
