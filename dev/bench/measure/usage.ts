/** Everything that is counted while something runs: time, requests, processes and hook calls. @module */
import type { Result } from "../result.ts";
import type { Stage } from "../stage/stage.ts";
import { hookUseBetween, readHookUse } from "./hookcalls.ts";
import { startMeter } from "./processes.ts";

/** What was used from the beginning to the end. */
export type Usage = Pick<Result, "seconds" | "requests" | "processes" | "hooks"> & {
  memory: NonNullable<Result["memory"]>;
};

/**
 * Calls `run` and counts meanwhile; profiles, where the stage takes them, may last longer than that.
 *
 * @param everyMs how often memory is looked at
 * @param run told when it began, as `performance.now()` says it
 */
export async function withUsage<T>(
  { requests, processes, hookURLs, profile }: Stage,
  everyMs: number,
  run: (begun: number) => Promise<T>,
): Promise<{ value: T; usage: Usage }> {
  await requests.begin();
  const hooksBefore = await readHookUse(hookURLs);
  const meter = startMeter(processes, everyMs);
  try {
    const profiled = profile?.();
    const begun = performance.now();
    const value = await run(begun);
    const seconds = (performance.now() - begun) / 1000;
    const processUse = meter.read();
    const hooks = hookUseBetween(hooksBefore, await readHookUse(hookURLs));
    const counts = await requests.end();
    await profiled;
    return { value, usage: { seconds, requests: counts, processes: processUse, hooks, memory: meter.memory() } };
  } finally {
    meter.stop();
  }
}
