/** Measures a run: time, requests, processes and hook calls. @module */
import type { Result } from "../result.ts";
import type { Stage } from "../stage/stage.ts";
import { hookUseBetween, readHookUse } from "./hookcalls.ts";
import { startMeter } from "./processes.ts";

/** The use between the beginning and the end. */
export type Usage = Pick<Result, "seconds" | "requests" | "processes" | "hooks"> & {
  memory: NonNullable<Result["memory"]>;
};

/**
 * Calls `run` and measures while it runs. Profiles, if the stage takes them, may last longer.
 *
 * @param everyMs how often memory is read, in milliseconds
 * @param run is called with its start time, in `performance.now()` milliseconds
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
