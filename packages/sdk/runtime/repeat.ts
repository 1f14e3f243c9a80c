/** Repeats failed requests if that is safe, and limits how long calls may take. @module */
import { sleep } from "../../kube/backoff.ts";
import { LONGEST_TIMER_MS } from "../../process/clock.ts";
import { ConnectionError } from "../errors.ts";

/** Waits before the second, third and fourth try, in milliseconds. */
export const REPEAT_WAITS_MS = [100, 400, 1600];

/** When to repeat a request. */
interface Repeatable {
  /** Whether the request is idempotent. If not, it is repeated only if the first one cannot have arrived. */
  repeatable: boolean;
  signal?: AbortSignal | undefined;
}

/**
 * Calls `act` again if the connection fails and a repetition is safe. Calls it at most four times.
 *
 * @throws the error of the last try, or the reason of the signal
 */
export async function withRetries<T>(act: () => Promise<T>, { repeatable, signal }: Repeatable): Promise<T> {
  for (let tries = 0;; tries++) {
    try {
      return await act();
    } catch (error) {
      signal?.throwIfAborted();
      const wait = REPEAT_WAITS_MS[tries];
      const isSafe = error instanceof ConnectionError && (repeatable || !error.mayHaveArrived);
      if (!isSafe || wait === undefined) throw error;
      await pause(wait, signal);
    }
  }
}

/** Waits. @throws the reason of the signal as soon as it is aborted */
export async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  await sleep(ms, signal ?? new AbortController().signal);
  signal?.throwIfAborted();
}

/** Time that a sandbox may take beyond its time limit, in milliseconds. */
const GRACE_MS = 5000;

/**
 * Returns a caller's time limit. Undefined means no limit, also for `Infinity` and for numbers that no clock reaches.
 */
export function limitOf(timeoutMs: number | undefined): number | undefined {
  return timeoutMs !== undefined && timeoutMs < Number.MAX_SAFE_INTEGER ? timeoutMs : undefined;
}

/** When a call is too late. */
interface Deadline<T> {
  /** The caller's signal. */
  signal: AbortSignal | undefined;
  /** The time limit that the sandbox has, in milliseconds; undefined: no limit. */
  timeoutMs: number | undefined;
  /** How long the sandbox may take to begin, in milliseconds. */
  beginMs: number;
  /** Returns whether this value shows that the work has begun. */
  isBeginning(value: T): boolean;
  /**
   * Whether the process in the sandbox continues to run if the caller cancels the call. If so, and the process has not
   * begun, the function waits for its beginning, at most for the grace period. The reader then knows which process to
   * kill.
   *
   * @default false
   */
  runsOn?: boolean;
  /** Creates the error for a call that is too late. */
  late(): Error;
}

/**
 * Yields the values of a call, and ends the call if it takes too long. Time that the reader needs for a value does not
 * count.
 *
 * @param open starts the call. Its signal is aborted with the caller's reason if the caller cancels the call, or with
 * the error of `late` if it is too late
 * @throws what `open` throws, or the caller's reason if the caller cancelled the call
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

/** Sends a last request to a sandbox, and waits at most for the grace period. Its result and errors are ignored. */
export async function inGrace(ask: (signal: AbortSignal) => Promise<unknown>): Promise<void> {
  const leaving = new AbortController();
  const cancel = after(GRACE_MS, () => leaving.abort());
  await ask(leaving.signal).catch(() => {}).finally(cancel);
}

/** Calls `act` after `ms` milliseconds. Returns a function that cancels the call. */
export function after(ms: number, act: () => void): () => void {
  // `setTimeout` fires at once for a longer time, so such a time counts as no limit.
  if (ms > LONGEST_TIMER_MS) return () => {};
  if (ms <= 0) act();
  const timer = setTimeout(act, ms);
  return () => clearTimeout(timer);
}

/** Returns 32 random hexadecimal digits. `crypto.randomUUID` does not exist on pages that were loaded by plain HTTP. */
export function randomId(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
