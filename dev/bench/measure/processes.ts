/**
 * Measures what processes use of the machine, from /proc (Linux only). For a process that has ended, the last values
 * count. @module
 */
import { readProcess } from "../../../packages/process/proctable.ts";
import type { ProcessUse } from "../result.ts";

/** A process to watch. */
export interface Watched {
  name: string;
  pid: number;
}

export interface Meter {
  /** The use since the meter was started, in the order of `processes`. */
  read(): ProcessUse[];
  /** Resident memory over time, in MiB. */
  memory(): { at: number[]; series: Record<string, number[]> };
  stop(): void;
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
  const look = () => {
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
  look();
  const timer = setInterval(look, everyMs);
  return {
    read: () => {
      look();
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
