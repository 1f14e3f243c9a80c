/** @module */
import { spawn } from "node:child_process";
import process from "node:process";
import { expect, test } from "vitest";
import { startMeter } from "../../../../dev/bench/measure/usage.ts";
import { eventually } from "../../../eventually.ts";

test(
  "startMeter() counts from its start, and keeps what a process used that is gone",
  async () => {
    const busy = "while (process.cpuUsage().user < 400_000);";
    const child = spawn(process.execPath, ["-e", `${busy} setTimeout(() => {}, 60_000)`], { stdio: "ignore" });
    const meter = startMeter([{ name: "busy", pid: child.pid ?? 0 }, { name: "this", pid: process.pid }], 20);
    await eventually(() => meter.read()[0]?.cpuSeconds ?? 0).toBeGreaterThan(0.2);
    const exited = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await exited;
    const [gone, own] = meter.read();
    meter.stop();
    expect(gone?.cpuSeconds).toBeGreaterThan(0.2);
    expect(gone?.peakMiB).toBeGreaterThan(10);
    expect(own?.cpuSeconds).toBeLessThan(process.uptime() * 4);
    const { at, series } = meter.memory();
    expect(series["busy"]).toHaveLength(at.length);
  },
);
