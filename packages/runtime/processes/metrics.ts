/** Reads the resource usage and the activity of the sandbox and its processes. @module */
import { availableParallelism, totalmem } from "node:os";
import process from "node:process";
import { type CgroupUsage, readCgroup } from "./cgroup.ts";
import type { Processes } from "./processes.ts";
import { listProcesses, type ProcessEntry } from "../../process/proctable.ts";

/** Usage of the whole sandbox. */
export interface SandboxUsage {
  cpuSeconds: number;
  memoryBytes: number;
  /** Undefined if there is no limit. */
  memoryLimitBytes: number | undefined;
  /** Limit as a number of CPUs. */
  cpuLimit: number;
  processCount: number;
  /** Number of processes that run or wait for a CPU, without the runtime itself. */
  runnableCount: number;
  /** `none` if neither cgroup nor /proc can be read: all numbers are then those of the runtime alone. */
  source: "cgroup2" | "cgroup1" | "proc" | "none";
}

/** Usage of one process that the runtime started, and of its session. */
export interface ProcessUsage {
  processId: number;
  cpuSeconds: number;
  rssBytes: number;
  processCount: number;
}

/** Activity that makes the sandbox not idle. */
export interface Activity {
  runningCommands: number;
  runningTerminals: number;
  attachedStreams: number;
  busyContexts: number;
  /** Average CPU usage as a number of CPUs, over the last second or more. */
  cpuUsage: number;
  lastActiveAt: Date;
}

/** Reads usage and activity at the same moment. */
export interface Metrics {
  read(): { sandbox: SandboxUsage; activity: Activity; processes: ProcessUsage[] };
}

/** Where to read from. All except `processes` are for tests. */
export interface MetricsOptions {
  processes: Processes;
  /** Number of contexts in which code is running. */
  busyContexts?: () => number;
  cgroup?: () => CgroupUsage | undefined;
  table?: () => ProcessEntry[];
  /** Returns the seconds of a monotonic clock. */
  clock?: () => number;
}

/** Shortest time for a CPU average, in seconds; a shorter one would mean little. */
const SHORTEST_SPAN = 1;

/** Creates the reader. The first CPU average starts from now. */
export function createMetrics(options: MetricsOptions): Metrics {
  const { processes, busyContexts = () => 0, cgroup = readCgroup, table = listProcesses } = options;
  const clock = options.clock ?? (() => performance.now() / 1000);
  let earlier = { at: clock(), cpuSeconds: usageOf(cgroup(), table()).cpuSeconds };
  let rate = 0;
  return {
    read: () => {
      const entries = table();
      const sandbox = usageOf(cgroup(), entries);
      const span = clock() - earlier.at;
      if (span >= SHORTEST_SPAN) {
        rate = Math.max(0, sandbox.cpuSeconds - earlier.cpuSeconds) / span;
        earlier = { at: clock(), cpuSeconds: sandbox.cpuSeconds };
      }
      return {
        sandbox,
        activity: { ...countsOf(processes), busyContexts: busyContexts(), cpuUsage: rate },
        processes: processes.list().filter(({ end }) => !end).map(({ running }) => ofSession(running.pid, entries)),
      };
    },
  };
}

function countsOf(processes: Processes) {
  const running = processes.list().filter(({ end }) => !end);
  const terminals = running.filter((entry) => "resize" in entry.running).length;
  return {
    runningCommands: running.length - terminals,
    runningTerminals: terminals,
    attachedStreams: processes.list().reduce((sum, { attached }) => sum + attached, 0),
    lastActiveAt: processes.lastActiveAt(),
  };
}

function usageOf(cgroup: CgroupUsage | undefined, entries: ProcessEntry[]): SandboxUsage {
  const counts = {
    processCount: entries.length || 1,
    runnableCount: entries.filter(({ pid, state }) => state === "R" && pid !== process.pid).length,
  };
  if (cgroup) return { ...cgroup, cpuLimit: cgroup.cpuLimit ?? availableParallelism(), ...counts };
  const machine = { memoryLimitBytes: totalmem(), cpuLimit: availableParallelism(), ...counts };
  if (entries.length > 0) {
    const { cpuSeconds, rssBytes } = sum(entries);
    return { cpuSeconds, memoryBytes: rssBytes, ...machine, source: "proc" };
  }
  const { user, system } = process.cpuUsage();
  return { cpuSeconds: (user + system) / 1e6, memoryBytes: process.memoryUsage().rss, ...machine, source: "none" };
}

function ofSession(sid: number, entries: ProcessEntry[]): ProcessUsage {
  const session = entries.filter((entry) => entry.sid === sid && entry.state !== "Z");
  return { processId: sid, ...sum(session), processCount: session.length };
}

function sum(entries: ProcessEntry[]): { cpuSeconds: number; rssBytes: number } {
  return entries.reduce(
    (total, { cpuSeconds, rssBytes }) => ({
      cpuSeconds: total.cpuSeconds + cpuSeconds,
      rssBytes: total.rssBytes + rssBytes,
    }),
    { cpuSeconds: 0, rssBytes: 0 },
  );
}
