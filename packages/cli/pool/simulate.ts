/** Simulates how pools of several sizes would have served given claims; deterministic. @module */
import { PATIENCE_MS } from "../../binder/filter.ts";

/** The claims, and how fast sandboxes start. Times in seconds. */
export interface Demand {
  /** Time of each claim, from the beginning of the simulation. */
  arrivals: readonly number[];
  /** Time from the creation of a pool's Sandbox until it is Ready. */
  refillSeconds: number;
  /** Time from the creation of a Sandbox for one claim until it is Ready. */
  startSeconds: number;
  /**
   * How long a claim waits for a Sandbox that is starting, before a new one is created for it.
   *
   * @default {1.5} as in the binder
   */
  patienceSeconds?: number;
  /** Length of the simulation. @default {the last arrival} */
  spanSeconds?: number;
}

/** How claims were served with one size of the pool. */
export interface PoolOutcome {
  replicas: number;
  /**
   * Number of claims that got a Sandbox of the pool at once, that waited for one, and for which a new one was created.
   */
  ready: number;
  waited: number;
  cold: number;
  /** Share of the claims that got a Sandbox of the pool, 0 to 1; 1 if there were no claims. */
  hitRate: number;
  /** Waiting time of claims, in seconds. */
  wait: { p50: number; p95: number; p99: number; max: number };
  /** Total time for which Ready Sandboxes were unused, in seconds. */
  idleSeconds: number;
}

/**
 * The binder counts from the claim's creation time, which has a precision of one second: on average, half a second is
 * over.
 */
const PATIENCE_SECONDS = PATIENCE_MS / 1000 - 0.5;
/**
 * Time from the binding of a Sandbox until its replacement is created, because claims that arrive together are served
 * first.
 */
const REPLACED_SECONDS = 0.05;

/**
 * Simulates a pool that is full at the beginning.
 *
 * | when a claim arrives | result |
 * |---|---|
 * | a Sandbox is Ready | the claim gets it at once |
 * | a Sandbox is starting, and will be Ready within the patience | the claim waits for it |
 * | a Sandbox is starting, but takes longer | the claim waits in vain; then a new Sandbox is created for it |
 * | none is starting, or older claims wait for all of them | a new Sandbox is created at once |
 *
 * Each Sandbox that a claim gets is replaced a moment later.
 */
export function simulatePool(demand: Demand, replicas: number): PoolOutcome {
  const { startSeconds, patienceSeconds = PATIENCE_SECONDS } = demand;
  const arrivals = demand.arrivals.toSorted((a, b) => a - b);
  const members = createMembers(demand, replicas);
  /** Arrival times of the waiting claims, oldest first. */
  const waiting: number[] = [];
  const waits: number[] = [];
  const counts = { ready: 0, waited: 0, cold: 0 };

  function pass(until: number): void {
    for (;;) {
      const coldAt = (waiting[0] ?? Infinity) + patienceSeconds;
      const next = members.next();
      if (Math.min(next, coldAt) > until || Math.min(next, coldAt) === Infinity) return;
      if (next > coldAt) {
        waiting.shift();
        startCold(patienceSeconds);
        continue;
      }
      members.pass();
      const came = waiting[0];
      if (came === undefined || !members.take(next)) continue;
      waiting.shift();
      counts.waited++;
      waits.push(next - came);
    }
  }

  function startCold(waited: number): void {
    counts.cold++;
    waits.push(waited + startSeconds);
  }

  for (const at of arrivals) {
    pass(at);
    if (members.take(at)) {
      counts.ready++;
      waits.push(0);
    } else if (members.coming() > waiting.length) waiting.push(at);
    else startCold(0);
  }
  pass(Infinity);
  const hits = counts.ready + counts.waited;
  const hitRate = arrivals.length === 0 ? 1 : hits / arrivals.length;
  const idleSeconds = members.idleSeconds(demand.spanSeconds ?? arrivals.at(-1) ?? 0);
  return { replicas, ...counts, hitRate, wait: percentiles(waits), idleSeconds };
}

/** The unused Sandboxes of a pool: Ready ones and starting ones. */
interface Members {
  /** Time of the next creation or readiness; Infinity if there is none. */
  next(): number;
  /** Processes that event. */
  pass(): void;
  /** Number of starting Sandboxes. */
  coming(): number;
  /** Takes a Ready Sandbox; returns false if there is none. */
  take(at: number): boolean;
  /** Total unused time until the end of the simulation, in seconds. */
  idleSeconds(span: number): number;
}

function createMembers({ refillSeconds }: Demand, replicas: number): Members {
  /**
   * Times since which Sandboxes are Ready, and at which others will be Ready. Ascending, because all need the same
   * time.
   */
  const ready = Array.from({ length: replicas }, () => 0);
  const coming: number[] = [];
  /** Times at which the next Sandboxes are created, ascending. */
  const due: number[] = [];
  let idle = 0;
  return {
    next: () => Math.min(coming[0] ?? Infinity, due[0] ?? Infinity),
    pass() {
      const isMade = (due[0] ?? Infinity) < (coming[0] ?? Infinity);
      if (isMade) coming.push((due.shift() ?? 0) + refillSeconds);
      else ready.push(coming.shift() ?? 0);
    },
    coming: () => coming.length,
    take(at) {
      const readySince = ready.shift();
      if (readySince === undefined) return false;
      idle += at - readySince;
      due.push(at + REPLACED_SECONDS);
      return true;
    },
    idleSeconds: (span) => ready.reduce((sum, readyAt) => sum + Math.max(0, span - readyAt), idle),
  };
}

/** Percentiles by the nearest-rank method; zeros if there are no claims. */
function percentiles(waits: number[]): PoolOutcome["wait"] {
  const sorted = waits.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99), max: at(1) };
}

/** Results by size. */
export interface PoolCurve {
  /** Ascending by size. */
  outcomes: PoolOutcome[];
  /** The smallest size that reaches the target hit rate. */
  smallest: number;
}

/** Number of sizes between 0 and the one at which no claim waits. */
const STEPS = 8;

/**
 * Simulates evenly spaced sizes, from 0 to the one at which every claim gets a Sandbox of the pool. Adds the current
 * and the smallest sufficient size.
 *
 * @param target wanted share of claims that get a Sandbox of the pool, above 0, at most 1
 * @param current size of the pool; undefined if there is no pool yet
 */
export function poolCurve(demand: Demand, target: number, current?: number): PoolCurve {
  const smallest = smallestPool(demand, target);
  const enough = smallestPool(demand, 1);
  const steps = Array.from({ length: STEPS + 1 }, (_, step) => Math.round(step * enough / STEPS));
  const sizes = new Set([...steps, smallest, ...(current === undefined ? [] : [current])]);
  const outcomes = [...sizes].sort((a, b) => a - b).map((replicas) => simulatePool(demand, replicas));
  return { outcomes, smallest };
}

/** Returns the smallest size with at least this hit rate. A larger pool never serves fewer claims. */
export function smallestPool(demand: Demand, target: number): number {
  let [low, high] = [0, demand.arrivals.length];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (simulatePool(demand, middle).hitRate >= target) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** How objects are created. Rates are per second. */
export type Arrivals =
  | { kind: "burst"; clients: number }
  | { kind: "rate"; perSecond: number }
  | { kind: "poisson"; perSecond: number; seed: number };

/** Returns the times of `count` objects, in milliseconds from the start, ascending. */
export function dueTimes(count: number, arrivals: Arrivals): number[] {
  if (arrivals.kind === "burst") return Array.from({ length: count }, () => 0);
  const gap = 1000 / arrivals.perSecond;
  if (arrivals.kind === "rate") return Array.from({ length: count }, (_, index) => index * gap);
  const random = createRandom(arrivals.seed);
  let at = 0;
  return Array.from({ length: count }, () => at += -Math.log(1 - random()) * gap);
}

/** Creates a random number generator from 0 (inclusive) to 1. The same seed gives the same numbers (xorshift32). */
function createRandom(seed: number): () => number {
  let state = seed | 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}
