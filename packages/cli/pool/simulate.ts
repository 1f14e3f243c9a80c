/** What a pool of some size would have done for claims that came when they came. Pure: no clock, no chance. @module */
import { PATIENCE_MS } from "../../binder/filter.ts";

/** Claims, and how fast sandboxes start. Times in seconds. */
export interface Demand {
  /** When each claim comes, from the beginning of the time that is looked at. */
  arrivals: readonly number[];
  /** From the moment that a member is made until it is Ready. */
  refillSeconds: number;
  /** From the moment that a sandbox is made for one claim until it is Ready. */
  startSeconds: number;
  /** How long a claim waits for a member on its way before one is made for it. @default {1.5} as the binder has it */
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

/** The binder counts from a claim's creation, which is known to the second: on average half of one is over. */
const PATIENCE_SECONDS = PATIENCE_MS / 1000 - 0.5;
/** From a hand-over until the next member is made: claims that come together go first. */
const REPLACED_SECONDS = 0.05;

/**
 * Simulates a pool that is full at first.
 *
 * | when a claim comes | it |
 * |---|---|
 * | a member is Ready | gets it at once |
 * | one is on its way, and Ready within the claim's patience | waits for it |
 * | one is on its way, and takes longer | waits in vain, then a sandbox is made for it |
 * | none is, or older claims wait for all that are | has a sandbox made for it at once |
 *
 * Each member that a claim gets is replaced a moment later.
 */
export function simulatePool(demand: Demand, replicas: number): PoolOutcome {
  const { startSeconds, patienceSeconds = PATIENCE_SECONDS } = demand;
  const arrivals = demand.arrivals.toSorted((a, b) => a - b);
  const members = createMembers(demand, replicas);
  /** When those that wait came, oldest first. */
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

/** The members of a pool that nobody has: those that are Ready, and those on their way. */
interface Members {
  /** When one becomes Ready or is made; Infinity: never. */
  next(): number;
  /** Lets that happen. */
  pass(): void;
  /** How many are on their way. */
  coming(): number;
  /** Takes one that is Ready; false: there is none. */
  take(at: number): boolean;
  /** Unused seconds, to the end of the span. */
  idleSeconds(span: number): number;
}

function createMembers({ refillSeconds }: Demand, replicas: number): Members {
  /** Since when each is Ready, and when each will be: ascending, since all take as long. */
  const ready = Array.from({ length: replicas }, () => 0);
  const coming: number[] = [];
  /** When the next ones are made: ascending. */
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

/** By nearest rank; zeros for nobody. */
function percentiles(waits: number[]): PoolOutcome["wait"] {
  const sorted = waits.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99), max: at(1) };
}
