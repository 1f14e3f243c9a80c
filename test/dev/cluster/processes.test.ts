/** @module */
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterAll, expect, test } from "vitest";
import {
  CLUSTER_VARIABLE,
  endGently,
  endProcesses,
  isRunning,
  processesOf,
  startProcess,
  startTimeOf,
  thisProcess,
} from "../../../dev/cluster/processes.ts";
import { eventually } from "../../eventually.ts";

const folder = mkdtempSync(join(tmpdir(), "hookbox-processes-"));
afterAll(() => rmSync(folder, { recursive: true }));

test("isRunning() knows this process, and knows a later process with its pid for another", () => {
  expect(isRunning(thisProcess())).toBe(true);
  expect(isRunning({ ...thisProcess(), startTime: "1" })).toBe(false);
});

test("startProcess() gives the process its own session, a log and its environment", async () => {
  const logFile = join(folder, "echo.log");
  const record = startProcess({
    name: "echo",
    command: "sh",
    args: ["-c", 'echo "$WORD"; exec sleep 60'],
    logFile,
    env: { WORD: "hello" },
  });
  await eventually(() => readFileSync(logFile, "utf8")).toBe("hello\n");
  const [, , session] = readFileSync(`/proc/${record.pid}/stat`, "utf8").split(") ")[1]?.split(" ").slice(1) ?? [];
  expect(Number(session)).toBe(record.pid);
  await endProcesses([record]);
  expect(isRunning(record)).toBe(false);
});

test("startProcess() says what cannot be run", () => {
  const spec = { name: "nothing", command: "/nonexistent/program", args: [], logFile: join(folder, "nothing.log") };
  expect(() => startProcess(spec)).toThrow("Cannot start nothing: /nonexistent/program cannot be run");
});

test("endProcesses() leaves a process alone that only has the pid of the record", async () => {
  const child = spawn("sleep", ["60"]);
  const pid = child.pid ?? 0;
  await endProcesses([{ name: "sleep", pid, startTime: "1" }]);
  expect(startTimeOf(pid)).toBeDefined();
  await endProcesses([{ name: "sleep", pid, startTime: startTimeOf(pid) ?? "" }]);
  expect(startTimeOf(pid)).toBeUndefined();
  expect(startTimeOf(process.pid)).toBeDefined();
});

test("endGently() lets a process finish what it is at", async () => {
  const logFile = join(folder, "gentle.log");
  const script = 'trap "echo finished; exit" TERM; echo ready; while :; do sleep 0.1; done';
  const record = startProcess({ name: "gentle", command: "sh", args: ["-c", script], logFile });
  await eventually(() => readFileSync(logFile, "utf8")).toBe("ready\n");
  await endGently(record);
  expect(readFileSync(logFile, "utf8")).toBe("ready\nfinished\n");
  expect(isRunning(record)).toBe(false);
});

test("processesOf() finds what a cluster's processes have started and left, and nobody else's", async () => {
  const logFile = join(folder, "left.log");
  const env = { [CLUSTER_VARIABLE]: "0000beef" };
  // A child in a session of its own outlives its parent.
  const script = "setsid sleep 300 & echo $! >>left.pid; wait";
  const parent = startProcess({ name: "parent", command: "sh", args: ["-c", `cd ${folder}; ${script}`], logFile, env });
  const other = startProcess({ name: "other", command: "sleep", args: ["300"], logFile });
  await eventually(() => processesOf("0000beef").length).toBe(2);
  await endProcesses([parent]);
  const left = processesOf("0000beef");
  expect(left).toHaveLength(1);
  await endProcesses(left);
  expect([processesOf("0000beef"), isRunning(other)]).toEqual([[], true]);
  await endProcesses([other]);
});
