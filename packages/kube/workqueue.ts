/**
 * Fair queues: groups of what waits take turns, so that a namespace with much work does not hold up the others. A work queue
 * is one that runs its work, a little at a time.
 * @module
 */

/** Groups of what waits, in order of their turns. A group that is set anew keeps its place, a new one comes last. */
export type FairQueue<Group> = Map<string, Group>;

interface Taking<Group, Taken> {
  /** Takes something from a group; undefined: nothing can be taken from it. */
  take(group: Group): Taken | undefined;
  isEmpty(group: Group): boolean;
  /** Tells whether a group has to wait; it keeps its place. Absent: none has to. */
  isHeld?(group: Group): boolean;
}

/**
 * Takes something from the first group that has something to take, and puts this group behind all others unless it is empty
 * now. A group from which nothing can be taken leaves the queue.
 *
 * @returns undefined: there is nothing to take
 */
export function takeInTurn<Group, Taken>(
  queue: FairQueue<Group>,
  { take, isEmpty, isHeld }: Taking<Group, Taken>,
): Taken | undefined {
  // Each group once, though `take` may set groups that have left.
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

/** Something to be done. Never fails. */
type Work = () => Promise<void>;

export interface WorkQueue {
  /**
   * Adds work, in place of what waits under its key, and begins it at once if that is possible.
   *
   * @param isUrgent comes before what is not, within its namespace
   */
  add(namespace: string, key: string, work: Work, isUrgent?: boolean): void;
  /** Removes all work that has not begun. */
  clear(): void;
}

/** The work of a namespace, by key. */
interface NamespaceWork {
  urgent: Map<string, Work>;
  calm: Map<string, Work>;
}

/** Makes a work queue. @param most how much work runs at once */
export function createWorkQueue(most: number): WorkQueue {
  const queue: FairQueue<NamespaceWork> = new Map();
  let running = 0;

  function next(): void {
    while (running < most) {
      const work = takeInTurn(queue, FIRST);
      if (!work) return;
      running++;
      void work().then(() => {
        running--;
        next();
      });
    }
  }

  return {
    add(namespace, key, work, isUrgent = false) {
      const own = queue.get(namespace) ?? { urgent: new Map<string, Work>(), calm: new Map<string, Work>() };
      if (isUrgent) own.calm.delete(key);
      const works = isUrgent || own.urgent.has(key) ? own.urgent : own.calm;
      works.set(key, work);
      queue.set(namespace, own);
      next();
    },
    clear: () => queue.clear(),
  };
}

const FIRST: Taking<NamespaceWork, Work> = {
  take({ urgent, calm }) {
    const works = urgent.size > 0 ? urgent : calm;
    for (const [key, work] of works) {
      works.delete(key);
      return work;
    }
    return undefined;
  },
  isEmpty: ({ urgent, calm }) => urgent.size + calm.size === 0,
};
