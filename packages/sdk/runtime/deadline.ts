/** A time limit on this side, for what a sandbox was told to end and does not. Knows no wire. @module */

import { LONGEST_TIMER_MS } from "../../process/clock.ts";

/** How much longer than it was told a sandbox may take, in milliseconds. */
const GRACE_MS = 5000;

/** Reads a caller's time limit. Undefined: no limit, also for `Infinity` and for numbers that no clock reaches. */
export function limitOf(timeoutMs: number | undefined): number | undefined {
  return timeoutMs !== undefined && timeoutMs < Number.MAX_SAFE_INTEGER ? timeoutMs : undefined;
}

/** When it is too late. */
export interface Deadline<T> {
  /** The caller's. */
  signal: AbortSignal | undefined;
  /** What the sandbox was told; undefined: no limit. */
  timeoutMs: number | undefined;
  /** How long it may take until it begins, in milliseconds. */
  beginMs: number;
  /** What tells that it has begun. */
  isBeginning(value: T): boolean;
  /**
   * Whether the process in the sandbox runs on without its caller. If the caller gives up, the function then still waits for
   * the process to begin, at most for the grace period, so that the reader knows which process to end. Absent: no.
   */
  runsOn?: boolean;
  /** Makes the error. */
  late(): Error;
}

/**
 * Yields what comes, and ends it where this side has waited too long. What the reader takes does not count: what waits
 * for a slow one meanwhile is no fault of the sandbox.
 *
 * @param open begins the call. Its signal aborts when the caller gives up, with the caller's reason, or when it is too late,
 * with the error of `late`
 * @throws what `open` throws, or the caller's reason if the caller gave up
 */
export async function* inTime<T>(
  open: (signal: AbortSignal) => AsyncIterable<T>,
  { signal, timeoutMs = Infinity, beginMs, isBeginning, runsOn = false, late }: Deadline<T>,
): AsyncGenerator<T> {
  signal?.throwIfAborted();
  const leaving = new AbortController();
  const iterator = open(leaving.signal)[Symbol.asyncIterator]();
  let left = beginMs + timeoutMs + GRACE_MS;
  let isBegun = false;
  const leave = () => leaving.abort(signal?.reason);
  let cancelLast = () => {};
  const giveUp = () => {
    if (runsOn && !isBegun) cancelLast = after(GRACE_MS, leave);
    else leave();
  };
  signal?.addEventListener("abort", giveUp, { once: true });
  try {
    for (;;) {
      const from = performance.now();
      const cancel = after(left, () => leaving.abort(late()));
      const { done, value } = await iterator.next().finally(cancel);
      if (done) return;
      left -= performance.now() - from;
      if (!isBegun && isBeginning(value)) {
        isBegun = true;
        left = timeoutMs + GRACE_MS;
      }
      yield value;
      if (signal?.aborted) leave();
    }
  } catch (error) {
    if (signal?.aborted) throw signal.reason;
    throw error;
  } finally {
    signal?.removeEventListener("abort", giveUp);
    cancelLast();
    leaving.abort();
    await iterator.return?.();
  }
}

/** Waits for the last thing that a sandbox is asked, no longer than the grace; what comes of it is nobody's concern. */
export async function inGrace(ask: (signal: AbortSignal) => Promise<unknown>): Promise<void> {
  const leaving = new AbortController();
  const cancel = after(GRACE_MS, () => leaving.abort());
  await ask(leaving.signal).catch(() => {}).finally(cancel);
}

/** Calls `act` after `ms` milliseconds. Returns a function that cancels the call. */
export function after(ms: number, act: () => void): () => void {
  // A longer timer would fire at once: what has so much left is not limited.
  if (ms > LONGEST_TIMER_MS) return () => {};
  if (ms <= 0) act();
  const timer = setTimeout(act, ms);
  return () => clearTimeout(timer);
}
