/**
 * Reads the resource usage and the activity of the sandbox and its processes, from its cgroup or from /proc.
 * @module
 */
import { readFileSync } from "node:fs";
import { availableParallelism, totalmem } from "node:os";
import process from "node:process";
import { listProcesses, type ProcessEntry } from "../../process/proctable.ts";
import { startedByCommands } from "./killall.ts";
import type { Processes } from "./processes.ts";

/** Usage of the whole sandbox. */
interface SandboxUsage {
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
interface ProcessUsage {
  processId: number;
  cpuSeconds: number;
  rssBytes: number;
  processCount: number;
}

/** Activity that makes the sandbox not idle. */
interface Activity {
  runningCommands: number;
  runningTerminals: number;
  attachedStreams: number;
  busyContexts: number;
  /** Processes that commands and code have left behind, and that still run. */
  jobs: ProcessEntry[];
  /** Bytes that the sandbox has sent and received since it started; undefined if /proc does not tell. */
  networkBytes: number | undefined;
  /** Average CPU usage as a number of CPUs, over the last second or more. */
  cpuUsage: number;
  lastActiveAt: Date;
}

/** Reads usage and activity at the same moment. */
export interface Metrics {
  read(): { sandbox: SandboxUsage; activity: Activity; processes: ProcessUsage[] };
}

/** Where to read from. All except `processes` are for tests. */
interface MetricsOptions {
  processes: Processes;
  /** Number of contexts in which code is running. */
  busyContexts?: () => number;
  /** Ids of the interpreters' processes. */
  interpreters?: () => number[];
  cgroup?: () => CgroupUsage | undefined;
  table?: () => ProcessEntry[];
  networkBytes?: () => number | undefined;
  /** Returns the seconds of a monotonic clock. */
  clock?: () => number;
}

/** Shortest time for a CPU average, in seconds; a shorter one would mean little. */
const SHORTEST_SPAN_SECONDS = 1;

/** Creates the reader. The first CPU average starts from now. */
export function createMetrics(options: MetricsOptions): Metrics {
  const { processes, busyContexts = () => 0, interpreters = () => [], cgroup = readCgroup } = options;
  const { table = listProcesses, networkBytes = readNetworkBytes } = options;
  const clock = options.clock ?? (() => performance.now() / 1000);
  let earlier = { at: clock(), cpuSeconds: usageOf(cgroup(), table()).cpuSeconds };
  let rate = 0;
  return {
    read: () => {
      const entries = table();
      const sandbox = usageOf(cgroup(), entries);
      const span = clock() - earlier.at;
      if (span >= SHORTEST_SPAN_SECONDS) {
        rate = Math.max(0, sandbox.cpuSeconds - earlier.cpuSeconds) / span;
        earlier = { at: clock(), cpuSeconds: sandbox.cpuSeconds };
      }
      return {
        sandbox,
        activity: {
          ...countsOf(processes),
          busyContexts: busyContexts(),
          jobs: jobsOf(entries, processes, interpreters()),
          networkBytes: networkBytes(),
          cpuUsage: rate,
        },
        processes: processes.list().filter(({ end }) => !end).map(({ running }) => sessionUsage(running.pid, entries)),
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

/** Returns the processes that commands and code have started, without interpreters and sessions of running commands. */
function jobsOf(entries: ProcessEntry[], processes: Processes, interpreters: number[]): ProcessEntry[] {
  const started = startedByCommands(entries);
  const running = new Set(processes.list().filter(({ end }) => !end).map(({ running }) => running.pid));
  return entries.filter(({ pid, sid, state }) => {
    return state !== "Z" && started.has(pid) && !running.has(sid) && !interpreters.includes(pid);
  });
}

function readNetworkBytes(): number | undefined {
  const text = readText("/proc/net/dev");
  return text === undefined ? undefined : parseNetworkBytes(text);
}

/** Adds up what all interfaces except the loopback have received and sent. @param text of /proc/net/dev; see proc(5) */
export function parseNetworkBytes(text: string): number {
  const interfaces = [...text.matchAll(/^\s*([^:\s]+):\s*(.*)$/gm)].filter(([, name]) => name !== "lo");
  return interfaces.reduce((sum, [, , fields = ""]) => {
    const counts = fields.split(/\s+/).map(Number);
    return sum + (counts[0] ?? 0) + (counts[8] ?? 0);
  }, 0);
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

function sessionUsage(sid: number, entries: ProcessEntry[]): ProcessUsage {
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

/** Usage and limits of a cgroup. A value that cannot be read is undefined. */
interface CgroupUsage {
  source: "cgroup2" | "cgroup1";
  cpuSeconds: number;
  /** Memory without inactive file cache, as the kubelet counts it. */
  memoryBytes: number;
  /** Undefined if there is no limit. */
  memoryLimitBytes: number | undefined;
  /** Limit as a number of CPUs; undefined if there is no quota. */
  cpuLimit: number | undefined;
}

/** Reads the cgroup mounted at `base`; undefined if there is none with these files. */
export function readCgroup(base = "/sys/fs/cgroup"): CgroupUsage | undefined {
  return readV2(base) ?? readV1(base);
}

function readV2(base: string): CgroupUsage | undefined {
  const cpu = readField(readText(`${base}/cpu.stat`), "usage_usec");
  const memory = parseNumber(readText(`${base}/memory.current`));
  if (cpu === undefined || memory === undefined) return undefined;
  const [quota, period] = (readText(`${base}/cpu.max`) ?? "").split(" ").map(Number);
  return {
    source: "cgroup2",
    cpuSeconds: cpu / 1e6,
    memoryBytes: workingSet(memory, readField(readText(`${base}/memory.stat`), "inactive_file")),
    memoryLimitBytes: parseNumber(readText(`${base}/memory.max`)),
    cpuLimit: quota && period ? quota / period : undefined,
  };
}

function readV1(base: string): CgroupUsage | undefined {
  const cpu = parseNumber(readText(`${base}/cpuacct/cpuacct.usage`));
  const memory = parseNumber(readText(`${base}/memory/memory.usage_in_bytes`));
  if (cpu === undefined || memory === undefined) return undefined;
  const limit = parseNumber(readText(`${base}/memory/memory.limit_in_bytes`));
  const quota = parseNumber(readText(`${base}/cpu/cpu.cfs_quota_us`)) ?? -1;
  const period = parseNumber(readText(`${base}/cpu/cpu.cfs_period_us`));
  return {
    source: "cgroup1",
    cpuSeconds: cpu / 1e9,
    memoryBytes: workingSet(memory, readField(readText(`${base}/memory/memory.stat`), "total_inactive_file")),
    // In v1, a number near 2^63 means that there is no limit.
    memoryLimitBytes: limit !== undefined && limit < 2 ** 60 ? limit : undefined,
    cpuLimit: quota > 0 && period ? quota / period : undefined,
  };
}

function workingSet(memory: number, inactive = 0): number {
  return Math.max(0, memory - inactive);
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8").trim();
  } catch {
    return undefined;
  }
}

/** Undefined for "max", which means that there is no limit. */
function parseNumber(text: string | undefined): number | undefined {
  return text !== undefined && /^-?\d+$/.test(text) ? Number(text) : undefined;
}

function readField(text: string | undefined, name: string): number | undefined {
  return parseNumber(text?.split("\n").find((line) => line.startsWith(`${name} `))?.slice(name.length + 1));
}
