/** createMetrics() and readCgroup() on numbers that are known. @module */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { expect, test } from "vitest";
import { createMetrics, parseNetworkBytes, readCgroup } from "../../../packages/runtime/processes/metrics.ts";
import { createProcesses } from "../../../packages/runtime/processes/processes.ts";
import type { ProcessEntry } from "../../../packages/process/proctable.ts";
import { makeTempFolder } from "../../tempfolder.ts";

function aCgroup(files: Record<string, string>): string {
  const base = makeTempFolder();
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(base, name)), { recursive: true });
    writeFileSync(join(base, name), text);
  }
  return base;
}

test("readCgroup() of version 2: the working set, limits, and max is none", () => {
  const files = {
    "cpu.stat": "usage_usec 2500000\nuser_usec 1\n",
    "memory.current": "1000\n",
    "memory.stat": "anon 1\ninactive_file 300\n",
    "memory.max": "5000\n",
    "cpu.max": "150000 100000\n",
  };
  const limits = { memoryLimitBytes: 5000, cpuLimit: 1.5 };
  expect(readCgroup(aCgroup(files))).toEqual({ source: "cgroup2", cpuSeconds: 2.5, memoryBytes: 700, ...limits });
  const without = aCgroup({ ...files, "memory.max": "max\n", "cpu.max": "max 100000\n" });
  expect(readCgroup(without)).toMatchObject({ memoryLimitBytes: undefined, cpuLimit: undefined });
});

test("readCgroup() of version 1, and of none", () => {
  const base = aCgroup({
    "cpuacct/cpuacct.usage": "2500000000\n",
    "memory/memory.usage_in_bytes": "1000\n",
    "memory/memory.stat": "total_inactive_file 300\n",
    "memory/memory.limit_in_bytes": "9223372036854771712\n",
    "cpu/cpu.cfs_quota_us": "50000\n",
    "cpu/cpu.cfs_period_us": "100000\n",
  });
  const want = { source: "cgroup1", cpuSeconds: 2.5, memoryBytes: 700, memoryLimitBytes: undefined, cpuLimit: 0.5 };
  expect(readCgroup(base)).toEqual(want);
  expect(readCgroup(aCgroup({}))).toBeUndefined();
});

const anEntry = (pid: number, more: Partial<ProcessEntry>): ProcessEntry => ({
  ...{ pid, name: "x", state: "S", ppid: 1, pgid: pid, sid: pid, cpuSeconds: 1, rssBytes: 1000, startTicks: 1 },
  ...more,
});

test("createMetrics() counts who runs or waits for a processor, the runtime apart", () => {
  const table =
    () => [anEntry(process.pid, { state: "R" }), anEntry(1, {}), ...[2, 3].map((pid) => anEntry(pid, { state: "R" }))];
  const cgroup = () =>
    ({ source: "cgroup2", cpuSeconds: 1, memoryBytes: 1, memoryLimitBytes: 1, cpuLimit: 1 }) as const;
  for (const from of [cgroup, () => undefined]) {
    const { sandbox } = createMetrics({ processes: createProcesses(), cgroup: from, table }).read();
    expect(sandbox).toMatchObject({ runnableCount: 2, processCount: 4 });
  }
});

test("createMetrics() sums over /proc without a cgroup, and a session over its groups", async () => {
  const processes = createProcesses();
  const { running, kill } = await processes.start({ argv: ["sleep", "300"], cwd: "/", env: {} });
  const sid = running.pid;
  const table = () => [anEntry(1, {}), anEntry(sid, {}), anEntry(3, { sid }), anEntry(4, { sid, state: "Z" })];
  const read = createMetrics({ processes, cgroup: () => undefined, table, busyContexts: () => 2 }).read();
  expect(read.sandbox).toMatchObject({ source: "proc", cpuSeconds: 4, memoryBytes: 4000, processCount: 4 });
  expect(read.processes).toEqual([{ processId: sid, cpuSeconds: 2, rssBytes: 2000, processCount: 2 }]);
  expect(read.activity).toMatchObject({ runningCommands: 1, runningTerminals: 0, attachedStreams: 0, busyContexts: 2 });
  kill();
});

test("createMetrics() rates CPU over a second or more, and keeps the rate in between", () => {
  let [now, cpuSeconds] = [0, 10];
  const cgroup = () => ({ ...{ source: "cgroup2" as const, memoryBytes: 0 }, cpuSeconds, ...none });
  const none = { memoryLimitBytes: undefined, cpuLimit: undefined };
  const metrics = createMetrics({ processes: createProcesses(), cgroup, table: () => [], clock: () => now });
  const rateAt = (at: number, cpu: number) => {
    [now, cpuSeconds] = [at, cpu];
    return metrics.read().activity.cpuUsage;
  };
  expect([rateAt(0.5, 10.5), rateAt(2, 13), rateAt(2.5, 99), rateAt(4, 13)]).toEqual([0, 1.5, 1.5, 0]);
});

test("createMetrics() without cgroup and /proc says so, and answers for the runtime alone", () => {
  const { sandbox } = createMetrics({ processes: createProcesses(), cgroup: () => undefined, table: () => [] }).read();
  expect(sandbox).toMatchObject({ source: "none", processCount: 1 });
  expect(sandbox.memoryBytes).toBeGreaterThan(1_000_000);
});

test("parseNetworkBytes() adds up what came and went, without the loopback", () => {
  const head = "Inter-|   Receive   |  Transmit\n face |bytes    packets\n";
  const lines = [
    "lo: 900 1 0 0 0 0 0 0 900 1 0 0 0 0 0 0",
    "eth0:  40 1 0 0 0 0 0 0 2 1 0 0 0 0 0 0",
    "  net1: 100 0 0 0 0 0 0 0 0",
  ];
  expect(parseNetworkBytes(`${head}${lines.join("\n")}\n`)).toBe(142);
});
