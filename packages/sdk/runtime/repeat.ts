/** Repeats failed requests if that is safe. @module */
import { sleep } from "../../kube/backoff.ts";
import { ConnectionError } from "../errors.ts";

/** Waits before the second, third and fourth try, in milliseconds. */
export const REPEAT_WAITS_MS = [100, 400, 1600];

/** Whether a request may be repeated. */
export interface Repeatable {
  /** Whether repeating it has no further effect. If false, it is repeated only if the request cannot have arrived. */
  repeatable: boolean;
  signal?: AbortSignal | undefined;
}

/**
 * Calls `act` until it succeeds or fails for another reason than the connection; at most four times.
 *
 * @throws the error of the last try, or the reason of the signal
 */
export async function repeating<T>(act: () => Promise<T>, { repeatable, signal }: Repeatable): Promise<T> {
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
