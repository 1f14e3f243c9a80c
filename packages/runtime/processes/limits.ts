/** A time limit and an abort in one; it must not know what happens at the limit. @module */
import { setMaxListeners } from "node:events";
import { LONGEST_TIMER_MS } from "../../process/clock.ts";

/**
 * Calls `onLimit` once, at the time limit or on abort (at once if that was before). The answer takes both back.
 *
 * @param timeoutMs milliseconds; `undefined` for none
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
  // One signal may end any number of processes: that is no leak to warn of.
  if (signal) setMaxListeners(0, signal);
  signal?.addEventListener("abort", onAbort, { once: true });
  if (signal?.aborted) fire("abort");
  return clear;
}
