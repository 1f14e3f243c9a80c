/**
 * Limits how many objects one process may delete or end over time, because its code can also be wrong slowly. Hooks and
 * keeper use the budget.
 * @module
 */
import type { FlagType } from "./flags.ts";

/** How long an allowed deletion is remembered, and the period for which unused budget accumulates, in minutes. */
const WINDOW_MINUTES = 5;

/** Delay before a deferred deletion is tried again. */
export const DEFERRED_RETRY_SECONDS = 5;

/** Decides which objects may be deleted or ended, and remembers them. */
export interface LossBudget {
  /**
   * Returns which of these objects must stay for now. The others count as deleted.
   *
   * @param namespace namespace of the objects; each namespace leaves room for others
   * @param uids in order of importance
   */
  spend(namespace: string, uids: readonly string[]): ReadonlySet<string>;
}

/** Allows all deletions. */
export const UNLIMITED: LossBudget = { spend: () => new Set() };

/** What a budget needs. */
export interface DeletionBudgetOptions {
  /** Deletions per minute over all namespaces, above 0; Infinity: no limit. */
  perMinute: number;
  /** A monotonic clock, in milliseconds. A clock that can be set could fill the budget. */
  now: () => number;
}

/** Values of `--max-losses-per-minute`. In earlier versions 0 meant no limit, but it reads like "no deletions". */
export const DELETION_RATE: FlagType<number> = {
  ...{
    name: "number above 0, or unlimited",
    placeholder: "N",
    allowed: 'a number above 0, or "unlimited" for no limit',
  },
  read(text, refuse) {
    if (text === "unlimited") return Infinity;
    const rate = Number(text);
    return text.trim() !== "" && Number.isFinite(rate) && rate > 0 ? rate : refuse();
  },
};

/** Default of `--max-losses-per-minute`. */
export const DEFAULT_DELETION_RATE = "600";

/** The share of each namespace in the common rate: with 600 per minute, 10 per minute. */
const SHARE = 1 / 60;
/** How many deletions are remembered. Without a limit, forged requests with invented namespaces could fill the memory. */
const MOST_REMEMBERED = 100_000;

/**
 * Creates a budget. It is empty at first and fills at the rate, up to the amount of five minutes. A process that was
 * just started, or is restarted often, therefore allows no more deletions than one that keeps running.
 *
 * A namespace first uses a share of its own, which fills in the same way and which no other namespace can use. After
 * that, it may use the common budget: it gets at most half of what is left, and its own use in the last five minutes
 * counts against it. A deletion that was allowed once is allowed again without being counted, because Metacontroller
 * calls the hook again until it sees the deletion.
 */
export function createDeletionBudget({ perMinute, now }: DeletionBudgetOptions): LossBudget {
  if (perMinute === Infinity) return UNLIMITED;
  const windowMs = WINDOW_MINUTES * 60_000;
  const begunAt = now();
  /** In order of time. `isShared`: the deletion used the common budget. */
  const passed = new Map<string, { at: number; namespace: string; isShared: boolean }>();
  const used = new Map<string, { own: number; shared: number }>();
  let filledAt = begunAt;
  let left = 0;

  function catchUp(at: number): void {
    left = Math.min(perMinute * WINDOW_MINUTES, left + (at - filledAt) / 60_000 * perMinute);
    filledAt = at;
    for (const [uid, loss] of passed) {
      if (at - loss.at < windowMs && passed.size <= MOST_REMEMBERED) return;
      passed.delete(uid);
      count(loss.namespace, loss.isShared, -1);
    }
  }

  function count(namespace: string, isShared: boolean, change: number): void {
    const { own, shared } = used.get(namespace) ?? { own: 0, shared: 0 };
    const sum = isShared ? { own, shared: shared + change } : { own: own + change, shared };
    if (sum.own === 0 && sum.shared === 0) used.delete(namespace);
    else used.set(namespace, sum);
  }

  function take(uids: readonly string[], namespace: string, isShared: boolean, at: number): void {
    for (const uid of uids) passed.set(uid, { at, namespace, isShared });
    if (uids.length > 0) count(namespace, isShared, uids.length);
  }

  return {
    spend(namespace, uids) {
      const at = now();
      catchUp(at);
      const fresh = uids.filter((uid) => !passed.has(uid));
      const { own, shared } = used.get(namespace) ?? { own: 0, shared: 0 };
      const filled = Math.min(WINDOW_MINUTES, (at - begunAt) / 60_000) * perMinute * SHARE;
      const share = Math.max(0, Math.floor(filled) - own);
      const room = Math.max(0, Math.floor((left - shared) / 2));
      const [first, second] = [fresh.slice(0, share), fresh.slice(share, share + room)];
      take(first, namespace, false, at);
      take(second, namespace, true, at);
      left -= second.length;
      return new Set(fresh.slice(share + room));
    },
  };
}
