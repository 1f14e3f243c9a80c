/** killAllOf() kills all processes that a command has started, in any session, but no process of others. @module */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import process from "node:process";
import { expect, onTestFinished, test } from "vitest";
import { createProcesses } from "../../../packages/runtime/processes/processes.ts";
import { startTerminal } from "../../../packages/runtime/processes/terminal.ts";
import { startKernel } from "../../../packages/runtime/contexts/kernel.ts";
import { eventually, until } from "../../eventually.ts";

let last = 700_000 + process.pid % 1000;
/** A number of seconds that only one test sleeps for; what of it outlives the test is killed then. */
function aNumber(): string {
  const seconds = String(last++);
  onTestFinished(() => {
    for (const pid of sleepers(seconds)) process.kill(Number(pid), "SIGKILL");
  });
  return seconds;
}

/** Ids of the processes that sleep for so long; what has ended and was not waited for has no command line. */
function sleepers(seconds: string): string[] {
  return readdirSync("/proc").filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, "latin1").startsWith(`sleep\0${seconds}\0`);
    } catch {
      return false;
    }
  });
}

const sleeping = (seconds: string) => sleepers(seconds).length;

const NODE =
  "require('child_process').spawn('sleep', [N], { detached: true, stdio: 'ignore' }).unref(); setInterval(() => {}, 1000)";

test.for<[string, (n: string) => string[], number]>([
  ["a session of its own", (n) => ["sh", "-c", `setsid sleep ${n} & sleep ${n}`], 2],
  [
    "an orphan in a session of its own",
    (n) => ["sh", "-c", `(setsid setsid sleep ${n} &) ; (setsid sh -c 'sleep ${n} & sleep ${n}' &); sleep ${n}`],
    4,
  ],
  [
    "a child in a session of its own without an environment",
    (n) => ["sh", "-c", `env -i setsid -w sleep ${n} & sleep ${n}`],
    2,
  ],
  [
    "groups of job control that heed no signal",
    (n) => ["sh", "-c", `set -m; (trap '' TERM HUP INT; sleep ${n}) & sleep ${n}`],
    2,
  ],
  ["a detached child of Node", (n) => [process.execPath, "-e", NODE.replace("N", `"${n}"`)], 1],
  [
    "a daemon",
    (
      n,
    ) => [
      "python3",
      "-c",
      `import os, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0: os.execvp('sleep', ['sleep', '${n}'])\n    os._exit(0)\nos.wait()\ntime.sleep(600)`,
    ],
    1,
  ],
  [
    "a shell that runs its input in a pipeline",
    (n) => ["bash", "-c", `setsid nohup sleep ${n} | setsid sleep ${n}`],
    2,
  ],
])("%s is killed", async ([, argv, count]) => {
  const processes = createProcesses();
  const n = aNumber();
  const entry = await processes.start({ argv: argv(n), cwd: "/", env: {} }, { detached: true });
  await eventually(() => sleeping(n)).toBe(count);
  entry.kill();
  await entry.ended;
  await eventually(() => sleeping(n)).toBe(0);
});

test("the time limit kills it too, also of a command that is waited for", async () => {
  const processes = createProcesses();
  const n = aNumber();
  const argv = ["sh", "-c", `setsid sleep ${n} & echo on; sleep ${n}`];
  const limit = new AbortController();
  const running = processes.run({ argv, cwd: "/", env: {} }, {
    timeoutMs: undefined,
    outputBytes: 99,
    signal: limit.signal,
  });
  await eventually(() => sleeping(n)).toBe(2);
  limit.abort();
  await running;
  await eventually(() => sleeping(n)).toBe(0);
  const { ended } = await processes.start({ argv, cwd: "/", env: {} }, { detached: true, timeoutMs: 300 });
  expect(await ended).toMatchObject({ timedOut: true });
  await eventually(() => sleeping(n)).toBe(0);
});

test("terminals and interpreters are killed with it, too", async () => {
  const n = aNumber();
  const argv = ["sh", "-c", `setsid sleep ${n} >/dev/null 2>&1 & sleep ${n}`];
  const terminal = await startTerminal({ argv, cwd: "/", env: {} }, { cols: 80, rows: 24 });
  await eventually(() => sleeping(n)).toBe(2);
  terminal.kill();
  await terminal.ended;
  await eventually(() => sleeping(n)).toBe(0);
  const kernel = await startKernel("python", "/", {});
  const code = `import subprocess; subprocess.Popen(['sleep', '${n}'], start_new_session=True); None`;
  await kernel.run(code).finished;
  await eventually(() => sleeping(n)).toBe(1);
  kernel.kill();
  await eventually(() => sleeping(n)).toBe(0);
});

test("what other commands have started lives on, and what a command left when it had ended", async () => {
  const processes = createProcesses();
  const n = aNumber();
  onTestFinished(() => processes.killAll());
  const stranger = spawn("sleep", [n]);
  onTestFinished(() => void stranger.kill());
  await once(stranger, "spawn");
  const start = (script: string) =>
    processes.start({ argv: ["sh", "-c", script], cwd: "/", env: {} }, { detached: true });
  const other = await start(`setsid sleep ${n} & sleep ${n}`);
  const left = await start(`setsid sleep ${n} >/dev/null 2>&1 &`);
  await left.ended;
  await until(() => sleeping(n) === 4);
  left.kill();
  const killed = await start(`setsid sleep ${n} & sleep ${n}`);
  await until(() => sleeping(n) === 6);
  killed.kill();
  await killed.ended;
  await eventually(() => sleeping(n)).toBe(4);
  const table = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  const pid = table.find((one) => one !== String(stranger.pid) && isOrphanSleeping(one, n));
  if (pid) process.kill(Number(pid), "SIGKILL");
  other.kill();
  await other.ended;
  await eventually(() => sleeping(n)).toBe(1);
});

/** Whether this is what the command left: it alone has an environment with one mark, and a parent that is not of the tests. */
function isOrphanSleeping(pid: string, seconds: string): boolean {
  try {
    const parent = /^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1];
    return parent === "1" && readFileSync(`/proc/${pid}/cmdline`, "latin1").startsWith(`sleep\0${seconds}\0`);
  } catch {
    return false;
  }
}
