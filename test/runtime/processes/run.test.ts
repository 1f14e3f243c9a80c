/** run(): what comes back, what is killed and what is left alone. @module */
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterAll, expect, test } from "vitest";
import { signalGroup } from "../../../packages/runtime/processes/killall.ts";
import { listProcesses } from "../../../packages/process/proctable.ts";
import type { Command } from "../../../packages/runtime/processes/command.ts";
import { run, type RunLimits } from "../../../packages/runtime/processes/run.ts";
import { eventually, until } from "../../eventually.ts";
import { holdTimers } from "../../hurry.ts";

const CWD = realpathSync(mkdtempSync(join(tmpdir(), "hookbox-run-")));
afterAll(() => rmSync(CWD, { recursive: true }));
/** The processes of a group that are left; what waits to be reaped by PID 1 has ended. */
const running = (pgid: number) => listProcesses().filter((one) => one.pgid === pgid && one.state !== "Z");
const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
const limits = (more: Partial<RunLimits> = {}): RunLimits => ({ timeoutMs: undefined, outputBytes: 1 << 20, ...more });
const aCommand = (argv: string[], more: Partial<Command> = {}): Command => ({ argv, cwd: CWD, env: {}, ...more });
const shell = (script: string, more: Partial<RunLimits> = {}) => run(aCommand(["/bin/sh", "-c", script]), limits(more));

test("run() gives back both streams, byte by byte, and the exit code", async () => {
  const finished = await shell("printf 'a\\000\\377'; printf b >&2; exit 3");
  expect([...finished.stdout]).toEqual([97, 0, 255]);
  expect(text(finished.stderr)).toBe("b");
  expect(finished).toMatchObject({ exitCode: 3, timedOut: false, truncated: false });
});

test("run() uses no shell, adds to the runtime's environment and runs in cwd", async () => {
  const echo = await run(aCommand(["echo", "$HOME", "*", "a b"]), limits());
  expect(text(echo.stdout)).toBe("$HOME * a b\n");
  const env = await run(aCommand(["/bin/sh", "-c", 'echo "$X,${PATH:+path},$(pwd)"'], { env: { X: "1" } }), limits());
  expect(text(env.stdout)).toBe(`1,path,${CWD}\n`);
});

test("run() gives an empty standard input", async () => {
  expect(text((await shell("cat; echo end")).stdout)).toBe("end\n");
});

test("a process can open its output by name, as it can a pipe's", async () => {
  const finished = await shell("echo out >/dev/stdout; echo err >/dev/stderr; echo both | tee /dev/stderr");
  expect([text(finished.stdout), text(finished.stderr)]).toEqual(["out\nboth\n", "err\nboth\n"]);
});

test("a signalled process has exit code -1", async () => {
  expect(await shell("kill -TERM $$")).toMatchObject({ exitCode: -1, timedOut: false });
});

test.for([
  { name: "empty", argv: [], code: "invalid" },
  { name: "NUL", argv: ["echo", "a\0b"], code: "invalid" },
  { name: "missing in PATH", argv: ["no-such-program-here"], code: "not-found" },
  { name: "missing path", argv: ["./nothing"], code: "not-found" },
  { name: "not executable", argv: ["./plain"], code: "not-executable" },
  { name: "a folder", argv: ["/"], code: "not-executable" },
])("run() of a command that is $name throws $code", async ({ argv, code }) => {
  writeFileSync(join(CWD, "plain"), "#!/bin/sh\n", { mode: 0o644 });
  await expect(run(aCommand(argv), limits())).rejects.toMatchObject({ name: "SpawnError", code });
});

test("run() tells a missing folder from a missing program", async () => {
  const missing = run(aCommand(["true"], { cwd: join(CWD, "missing") }), limits());
  await expect(missing).rejects.toMatchObject({ code: "bad-cwd" });
});

test.for(["", "A=B", "A\0"])("run() refuses variable %j", async (name) => {
  await expect(run(aCommand(["true"], { env: { [name]: "1" } }), limits())).rejects.toMatchObject({ code: "invalid" });
});

test("the time limit kills the whole group, also what holds the pipes", async () => {
  const finished = await shell("sleep 300 & echo $$; wait", { timeoutMs: 200 });
  expect(finished).toMatchObject({ exitCode: -1, timedOut: true });
  await eventually(() => running(Number(text(finished.stdout)))).toEqual([]);
});

test("the time limit reaches groups that job control made", async () => {
  // A shell that has no terminal may refuse job control: this is what it does.
  const child = "import os; os.setpgid(0, 0); os.execvp('sleep', ['sleep', '300'])";
  const pass = holdTimers();
  let sid = 0;
  const onStart = ({ pid }: { pid: number }) => void (sid = pid);
  const running = shell(`python3 -c "${child}" & wait`, { timeoutMs: 1500, onStart });
  await until(() => listProcesses().some((one) => one.sid === sid && one.pgid !== sid));
  pass(1500);
  expect((await running).timedOut).toBe(true);
  await eventually(() => listProcesses().filter((one) => one.sid === sid && one.state !== "Z")).toEqual([]);
});

test("an abort kills the whole group and is no timeout, also when it was before", async () => {
  expect(await shell("sleep 300", { signal: AbortSignal.timeout(50) })).toMatchObject({
    exitCode: -1,
    timedOut: false,
  });
  expect(await shell("sleep 300", { signal: AbortSignal.abort() })).toMatchObject({ exitCode: -1, timedOut: false });
});

test("one signal may end many, without a warning", async () => {
  const warnings: Error[] = [];
  const onWarning = (warning: Error) => warnings.push(warning);
  process.on("warning", onWarning);
  const stop = new AbortController();
  let started = 0;
  const more = { signal: stop.signal, onStart: () => started++ };
  const running = Array.from({ length: 15 }, () => shell("sleep 300", more));
  await eventually(() => started).toBe(15);
  stop.abort();
  expect((await Promise.all(running)).map(({ exitCode }) => exitCode)).toEqual(running.map(() => -1));
  process.off("warning", onWarning);
  expect(warnings).toEqual([]);
});

test("run() does not wait for a background process that keeps the pipe, and leaves it running", async () => {
  const finished = await shell("(while :; do sleep 0.1; echo more; done) & echo $$");
  const pgid = Number(text(finished.stdout).split("\n")[0]);
  expect(finished.exitCode).toBe(0);
  expect(running(pgid)).not.toEqual([]);
  signalGroup(pgid, "SIGKILL");
});

test("output beyond the limit is read and thrown away", async () => {
  const finished = await shell("head -c 3000000 /dev/zero; echo end >&2", { outputBytes: 1000 });
  expect(finished.stdout.length).toBe(1000);
  expect(text(finished.stderr)).toBe("end\n");
  expect(finished).toMatchObject({ exitCode: 0, truncated: true });
});

test("all that the leader wrote arrives", async () => {
  const finished = await shell("sleep 2 & head -c 5000000 /dev/zero", { outputBytes: 1 << 23 });
  expect(finished).toMatchObject({ truncated: false, exitCode: 0 });
  expect(finished.stdout.length).toBe(5_000_000);
});

test("signalGroup() refuses what would reach other processes", () => {
  expect(() => signalGroup(1, 0)).toThrow(RangeError);
  expect(() => signalGroup(0, 0)).toThrow(RangeError);
});
