/** Tries again what is safe to repeat. Knows no wire. @module */
import { sleep } from "../../kube/backoff.ts";
import { ConnectionError } from "../errors.ts";

/** Waits before the second, third and fourth try, in milliseconds. */
export const WAITS_MS = [100, 400, 1600];

/** What decides about another try. */
export interface Repeatable {
  /** It changes nothing, or the same again; otherwise only what never arrived is tried again. */
  repeatable: boolean;
  signal?: AbortSignal | undefined;
}

/**
 * Calls `act` until it does not fail for its connection, four times at most.
 *
 * @throws what the last try threw, or the signal's reason
 */
export async function repeating<T>(act: () => Promise<T>, { repeatable, signal }: Repeatable): Promise<T> {
  for (let tries = 0;; tries++) {
    try {
      return await act();
    } catch (error) {
      signal?.throwIfAborted();
      const wait = WAITS_MS[tries];
      const isSafe = error instanceof ConnectionError && (repeatable || !error.mayHaveArrived);
      if (!isSafe || wait === undefined) throw error;
      await pause(wait, signal);
    }
  }
}

/** Waits. @throws the signal's reason as soon as it fires */
export async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  await sleep(ms, signal ?? new AbortController().signal);
  signal?.throwIfAborted();
}
