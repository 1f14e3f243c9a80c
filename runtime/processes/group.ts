/** Signals to whole process groups; it must not signal a process by its bare id. @module */
import process from "node:process";

/** Sends `signal` to every process of the group; false if the group has no process left. */
export function signalGroup(pgid: number, signal: NodeJS.Signals | 0): boolean {
  // 0 and 1 would mean the runtime's own group and everything there is.
  if (!Number.isInteger(pgid) || pgid < 2) throw new RangeError(`Cannot signal group ${pgid}: no such group`);
  try {
    process.kill(-pgid, signal);
    return true;
  } catch (error) {
    if (!(error instanceof Error) || !/ESRCH|EPERM/.test(`${"code" in error ? error.code : ""} ${error.message}`)) {
      throw error;
    }
    return false;
  }
}

/** Longest delay that a timer takes, in milliseconds: a longer one would fire at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

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
  signal?.addEventListener("abort", onAbort, { once: true });
  if (signal?.aborted) fire("abort");
  return clear;
}
