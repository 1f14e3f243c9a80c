/**
 * Measures a run: time, requests, hook calls, and the use of CPU and memory by processes, from /proc (Linux only). For
 * a process that has ended, the last values count. @module
 */
import { readProcess } from "../../../packages/process/proctable.ts";
import type { ProcessUse, Result } from "../result.ts";
import type { Stage } from "../stage/stage.ts";
import { hookUseBetween, readHookUse } from "./metrics.ts";

/** The use between the beginning and the end. */
export type Usage = Pick<Result, "seconds" | "requests" | "processes" | "hooks"> & {
  memory: NonNullable<Result["memory"]>;
};

/** A process to watch. */
export interface Watched {
  name: string;
  pid: number;
}

interface Meter {
  /** The use since the meter was started, in the order of `processes`. */
  read(): ProcessUse[];
  /** Resident memory over time, in MiB. */
  memory(): { at: number[]; series: Record<string, number[]> };
  stop(): void;
}

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

/** Starts to measure processes. It reads their memory every `everyMs` milliseconds. */
export function startMeter(processes: readonly Watched[], everyMs = 500): Meter {
  const last = processes.map(({ pid }) => {
    const { cpuSeconds = 0, rssBytes = 0 } = readProcess(pid) ?? {};
    return { cpu: cpuSeconds, rss: mib(rssBytes), peak: 0 };
  });
  const first = last.map(({ cpu }) => cpu);
  const begun = performance.now();
  const at: number[] = [];
  const series = processes.map((): number[] => []);
  const sample = () => {
    at.push(Math.round(performance.now() - begun) / 1000);
    for (const [index, { pid }] of processes.entries()) {
      const seen = last[index];
      if (!seen) continue;
      const entry = readProcess(pid);
      if (entry) Object.assign(seen, { cpu: entry.cpuSeconds, rss: mib(entry.rssBytes) });
      seen.peak = Math.max(seen.peak, seen.rss);
      series[index]?.push(seen.rss);
    }
  };
  sample();
  const timer = setInterval(sample, everyMs);
  return {
    read: () => {
      sample();
      return processes.map(({ name }, index) => {
        const { cpu = 0, rss = 0, peak = 0 } = last[index] ?? {};
        return { name, cpuSeconds: cpu - (first[index] ?? 0), rssMiB: rss, peakMiB: peak };
      });
    },
    memory: () => ({ at, series: Object.fromEntries(processes.map(({ name }, index) => [name, series[index] ?? []])) }),
    stop: () => clearInterval(timer),
  };
}

function mib(bytes: number): number {
  return Math.round(bytes / 1024 / 102.4) / 10;
}
