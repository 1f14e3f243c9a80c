/** Reads the CPU and memory usage of the sandbox from its cgroup (v2 or v1). @module */
import { readFileSync } from "node:fs";

/** Usage and limits of a cgroup. A value that cannot be read is undefined. */
export interface CgroupUsage {
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
  const cpu = field(read(`${base}/cpu.stat`), "usage_usec");
  const memory = number(read(`${base}/memory.current`));
  if (cpu === undefined || memory === undefined) return undefined;
  const [quota, period] = (read(`${base}/cpu.max`) ?? "").split(" ").map(Number);
  return {
    source: "cgroup2",
    cpuSeconds: cpu / 1e6,
    memoryBytes: workingSet(memory, field(read(`${base}/memory.stat`), "inactive_file")),
    memoryLimitBytes: number(read(`${base}/memory.max`)),
    cpuLimit: quota && period ? quota / period : undefined,
  };
}

function readV1(base: string): CgroupUsage | undefined {
  const cpu = number(read(`${base}/cpuacct/cpuacct.usage`));
  const memory = number(read(`${base}/memory/memory.usage_in_bytes`));
  if (cpu === undefined || memory === undefined) return undefined;
  const limit = number(read(`${base}/memory/memory.limit_in_bytes`));
  const quota = number(read(`${base}/cpu/cpu.cfs_quota_us`)) ?? -1;
  const period = number(read(`${base}/cpu/cpu.cfs_period_us`));
  return {
    source: "cgroup1",
    cpuSeconds: cpu / 1e9,
    memoryBytes: workingSet(memory, field(read(`${base}/memory/memory.stat`), "total_inactive_file")),
    // In v1, a number near 2^63 means that there is no limit.
    memoryLimitBytes: limit !== undefined && limit < 2 ** 60 ? limit : undefined,
    cpuLimit: quota > 0 && period ? quota / period : undefined,
  };
}

function workingSet(memory: number, inactive = 0): number {
  return Math.max(0, memory - inactive);
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8").trim();
  } catch {
    return undefined;
  }
}

/** Undefined for "max", which means that there is no limit. */
function number(text: string | undefined): number | undefined {
  return text !== undefined && /^-?\d+$/.test(text) ? Number(text) : undefined;
}

function field(text: string | undefined, name: string): number | undefined {
  return number(text?.split("\n").find((line) => line.startsWith(`${name} `))?.slice(name.length + 1));
}
