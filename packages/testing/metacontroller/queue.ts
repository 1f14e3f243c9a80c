/** A work queue like client-go's: a key is never processed twice at the same time. @module */
import type { Clock } from "../store/store.ts";

const BASE_DELAY_MS = 5;
const MAX_DELAY_MS = 1_000_000;
const BUCKET_PER_SECOND = 10;
const BUCKET_BURST = 100;

interface Queue {
  add(key: string): void;
  /**
   * Adds a key after a delay in milliseconds; 0 or less: now. If an earlier time is pending for the key, that one
   * counts.
   */
  addAfter(key: string, milliseconds: number): void;
  /**
   * Adds a key after a delay: 5 ms, doubled for each failure of the key, at most 1000 s; for all keys 10 per second
   * (burst 100).
   */
  addRateLimited(key: string): void;
  /** Resets the number of failures of a key. */
  forget(key: string): void;
  /** Starts the workers; until then keys are only collected. */
  start(): void;
  /** Accepts no more keys; resolves when running work has ended. */
  stop(): Promise<void>;
  /** Number of keys that are ready or being processed; delayed keys do not count. */
  busy(): number;
}

/** Makes a queue that waits for `start`. `work` must not reject; it decides itself which keys to add again. */
export function createQueue(clock: Clock, workers: number, work: (key: string) => Promise<void>): Queue {
  const pool = createWorkers(workers, work);
  const delays = createDelays(clock, pool.add);
  const limiter = createLimiter(clock);
  function addAfter(key: string, milliseconds: number): void {
    if (milliseconds <= 0) pool.add(key);
    else if (!pool.isStopped()) delays.set(key, milliseconds);
  }
  return {
    add: pool.add,
    addAfter,
    addRateLimited: (key) => addAfter(key, limiter.delay(key)),
    forget: limiter.forget,
    start: pool.start,
    async stop() {
      delays.clear();
      await pool.stop();
    },
    busy: pool.busy,
  };
}

/**
 * The workers. A key that is added several times is processed once, and once more if it is added during its processing.
 */
function createWorkers(workers: number, work: (key: string) => Promise<void>) {
  const ready = new Set<string>();
  const running = new Map<string, Promise<void>>();
  const again = new Set<string>();
  let state: "waiting" | "started" | "stopped" = "waiting";
  function dispatch(): void {
    for (const key of ready) {
      if (state !== "started" || running.size >= workers) return;
      ready.delete(key);
      const worked = work(key).finally(() => {
        running.delete(key);
        if (again.delete(key)) add(key);
        dispatch();
      });
      running.set(key, worked);
    }
  }

  function add(key: string): void {
    if (state === "stopped") return;
    if (running.has(key)) again.add(key);
    else ready.add(key);
    dispatch();
  }

  return {
    add,
    isStopped: () => state === "stopped",
    start(): void {
      if (state === "waiting") state = "started";
      dispatch();
    },
    async stop(): Promise<void> {
      state = "stopped";
      [ready, again].forEach((keys) => keys.clear());
      await Promise.all(running.values());
    },
    busy: () => ready.size + running.size,
  };
}

/** Delays, at most one for each key. */
function createDelays(clock: Clock, due: (key: string) => void) {
  const pending = new Map<string, { at: number; cancel: () => void }>();
  return {
    set(key: string, milliseconds: number): void {
      const at = clock.now() + milliseconds;
      const known = pending.get(key);
      if (known && known.at <= at) return;
      known?.cancel();
      const cancel = clock.setTimeout(() => {
        pending.delete(key);
        due(key);
      }, milliseconds);
      pending.set(key, { at, cancel });
    },
    clear(): void {
      for (const { cancel } of pending.values()) cancel();
      pending.clear();
    },
  };
}

function createLimiter(clock: Clock) {
  const failures = new Map<string, number>();
  let tokens = BUCKET_BURST;
  let last = clock.now();

  function reserve(): number {
    const now = clock.now();
    tokens = Math.min(BUCKET_BURST, tokens + ((now - last) / 1000) * BUCKET_PER_SECOND) - 1;
    last = now;
    return tokens < 0 ? (-tokens / BUCKET_PER_SECOND) * 1000 : 0;
  }

  return {
    delay(key: string): number {
      const count = failures.get(key) ?? 0;
      failures.set(key, count + 1);
      return Math.max(Math.min(BASE_DELAY_MS * 2 ** count, MAX_DELAY_MS), reserve());
    },
    forget: (key: string): void => void failures.delete(key),
  };
}
