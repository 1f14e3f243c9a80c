/** How much of a fleet the answers of one process may take away, over time: a hook can be wrong slowly. No clock of its own. @module */

/** Losses that passed are remembered so long, and so much may be saved up, in minutes. */
const WINDOW_MINUTES = 5;

/** Says what may go, and remembers it. */
export interface LossBudget {
  /**
   * Says which of these objects have to stay for now; the others are counted as lost.
   *
   * @param namespace of the objects: one leaves room for others
   * @param uids in order of importance
   */
  spend(namespace: string, uids: readonly string[]): ReadonlySet<string>;
}

/** Lets everything go. */
export const UNLIMITED: LossBudget = { spend: () => new Set() };

/** What a budget needs. */
export interface LossBudgetOptions {
  /** Losses per minute over all parents; 0: no limit. */
  perMinute: number;
  /** Milliseconds that only ever grow: a clock that is set must not fill the budget. */
  now: () => number;
}

/**
 * Makes a budget. It begins empty and fills at the rate, up to what comes together in five minutes: a process that was
 * just started, or started again and again, may take no more away than one that runs.
 *
 * A namespace gets at most half of what is there beyond what it has used in the last five minutes. What has passed once
 * passes again without being counted: Metacontroller asks again until it sees the deletion.
 */
export function createLossBudget({ perMinute, now }: LossBudgetOptions): LossBudget {
  if (perMinute === 0) return UNLIMITED;
  const windowMs = WINDOW_MINUTES * 60_000;
  /** In order of time. */
  const passed = new Map<string, { at: number; namespace: string }>();
  const used = new Map<string, number>();
  let filledAt = now();
  let left = 0;

  function catchUp(at: number): void {
    left = Math.min(perMinute * WINDOW_MINUTES, left + (at - filledAt) / 60_000 * perMinute);
    filledAt = at;
    for (const [uid, loss] of passed) {
      if (at - loss.at < windowMs) return;
      passed.delete(uid);
      count(loss.namespace, -1);
    }
  }

  function count(namespace: string, change: number): void {
    const sum = (used.get(namespace) ?? 0) + change;
    if (sum === 0) used.delete(namespace);
    else used.set(namespace, sum);
  }

  return {
    spend(namespace, uids) {
      const at = now();
      catchUp(at);
      const fresh = uids.filter((uid) => !passed.has(uid));
      const room = Math.max(0, Math.floor((left - (used.get(namespace) ?? 0)) / 2));
      for (const uid of fresh.slice(0, room)) passed.set(uid, { at, namespace });
      const spent = Math.min(room, fresh.length);
      if (spent > 0) count(namespace, spent);
      left -= spent;
      return new Set(fresh.slice(room));
    },
  };
}
