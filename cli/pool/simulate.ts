/** What a pool of some size would have done for claims that came when they came. Pure: no clock, no chance. @module */

/** Claims, and how fast sandboxes start. Times in seconds. */
export interface Demand {
  /** When each claim comes, from the beginning of the time that is looked at. */
  arrivals: readonly number[];
  /** From the hand-over of a member until the one that replaces it is Ready. */
  refillSeconds: number;
  /** From the moment that a sandbox is made for one claim until it is Ready. */
  startSeconds: number;
  /** How long a claim waits for a member on its way before one is made for it. @default {2} as the pool's hook has it */
  patienceSeconds?: number;
  /** How long the pool stands. @default {the last arrival} */
  spanSeconds?: number;
}

/** How claims fared with one size of the pool. */
export interface PoolOutcome {
  replicas: number;
  /** Claims that got a member at once, that waited for one, and that had a sandbox made for them. */
  ready: number;
  waited: number;
  cold: number;
  /** Share of the claims that got a member, 0 to 1; 1 without claims. */
  hitRate: number;
  /** How long claims waited, in seconds. */
  wait: { p50: number; p95: number; p99: number; max: number };
  /** Seconds that Ready members stood unused, all together. */
  idleSeconds: number;
}

/** What a pool waits for a member on its way, as hooks/sandboxwarmpool/allocate.ts has it. */
const PATIENCE_SECONDS = 2;

/**
 * Simulates a pool that is full at first. Each member that is handed over is replaced at once.
 *
 * | when a claim comes | it |
 * |---|---|
 * | a member is Ready | gets it at once |
 * | one is on its way, and Ready within the claim's patience | waits for it |
 * | one is on its way, and takes longer | waits in vain, then a sandbox is made for it |
 * | none is, or older claims wait for all that are | has a sandbox made for it at once |
 */
export function simulatePool(demand: Demand, replicas: number): PoolOutcome {
  const { refillSeconds, startSeconds, patienceSeconds = PATIENCE_SECONDS } = demand;
  const arrivals = demand.arrivals.toSorted((a, b) => a - b);
  const span = demand.spanSeconds ?? arrivals.at(-1) ?? 0;
  const members = createMembers(replicas, refillSeconds, span);
  /** Until when claims wait in vain. */
  const inVain: number[] = [];
  const waits: number[] = [];
  const counts = { ready: 0, waited: 0, cold: 0 };
  for (const at of arrivals) {
    while ((inVain[0] ?? Infinity) <= at) inVain.shift();
    const next = members.next();
    const isOneComing = members.comingAt(at) > inVain.length;
    if (next <= at) {
      members.take(at);
      counts.ready++;
      waits.push(0);
    } else if (isOneComing && next <= at + patienceSeconds) {
      members.take(next);
      counts.waited++;
      waits.push(next - at);
    } else {
      if (isOneComing) inVain.push(at + patienceSeconds);
      counts.cold++;
      waits.push((isOneComing ? patienceSeconds : 0) + startSeconds);
    }
  }
  const hits = counts.ready + counts.waited;
  const hitRate = arrivals.length === 0 ? 1 : hits / arrivals.length;
  return { replicas, ...counts, hitRate, wait: percentiles(waits), idleSeconds: members.idleSeconds() };
}

/** The members of a pool by when they are Ready. Members are taken in that order, so that their successors come in it too. */
interface Members {
  /** When the next one that nobody has is Ready; Infinity: the pool keeps none. */
  next(): number;
  /** How many are on their way at a time, none being Ready. */
  comingAt(at: number): number;
  /** Takes the next one, at a time at which it is Ready. */
  take(at: number): void;
  /** Unused seconds, to the end of the span. */
  idleSeconds(): number;
}

function createMembers(replicas: number, refillSeconds: number, span: number): Members {
  const readyAt: number[] = Array.from({ length: replicas }, () => 0);
  let first = 0;
  let idle = 0;
  return {
    next: () => readyAt[first] ?? Infinity,
    comingAt(at) {
      // Ordered at or before this time: the last ones may be those that replace members which are only promised.
      for (let index = readyAt.length - 1; index >= first; index--) {
        if ((readyAt[index] ?? 0) - refillSeconds <= at) return index - first + 1;
      }
      return 0;
    },
    take(at) {
      idle += at - (readyAt[first] ?? at);
      first++;
      readyAt.push(at + refillSeconds);
    },
    idleSeconds: () => readyAt.slice(first).reduce((sum, ready) => sum + Math.max(0, span - ready), idle),
  };
}

/** By nearest rank; zeros for nobody. */
function percentiles(waits: number[]): PoolOutcome["wait"] {
  const sorted = waits.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99), max: at(1) };
}
