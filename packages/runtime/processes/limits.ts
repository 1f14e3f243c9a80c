/** Combines a time limit and an abort signal. @module */
import { setMaxListeners } from "node:events";
import { LONGEST_TIMER_MS } from "../../process/clock.ts";

/**
 * Calls `onLimit` once, at the time limit or when the signal aborts; immediately if it has aborted already. Call the
 * returned function to cancel both.
 *
 * @param timeoutMs milliseconds; undefined: no time limit
 */
export function watchLimits(
  timeoutMs: number | undefined,
  signal: AbortSignal | undefined,
  onLimit: (why: "timeout" | "abort") => void,
): () => void {
  const onAbort = () => fire("abort");
  const timer = timeoutMs === undefined
    ? undefined
    : setTimeout(() => fire("timeout"), Math.min(Math.max(timeoutMs, 0), LONGEST_TIMER_MS));
  const clear = () => {
    clearTimeout(timer);
    signal?.removeEventListener("abort", onAbort);
  };
  const fire = (why: "timeout" | "abort") => {
    clear();
    onLimit(why);
  };
  // Any number of processes can wait for one signal, so Node must not warn about a memory leak.
  if (signal) setMaxListeners(0, signal);
  signal?.addEventListener("abort", onAbort, { once: true });
  if (signal?.aborted) fire("abort");
  return clear;
}
