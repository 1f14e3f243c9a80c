/** createProcesses(): who runs, who ran, and what is kept of them; also readOutput(). @module */
import { chmodSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterEach, expect, test, vi } from "vitest";
import { readOutput } from "../../../packages/runtime/processes/output.ts";
import { safeFolder } from "../../../packages/runtime/processes/pipes.ts";
import { createProcesses, type Process, type Processes } from "../../../packages/runtime/processes/processes.ts";
import { eventually } from "../../eventually.ts";
import { makeTempFolder } from "../../tempfolder.ts";

const started: Processes[] = [];
afterEach(() => started.splice(0).forEach((processes) => processes.killAll()));

function aList(options: Parameters<typeof createProcesses>[0] = {}): Processes {
  const processes = createProcesses(options);
  started.push(processes);
  return processes;
}
const aCommand = (script: string, env: Record<string, string> = {}) => ({
  argv: ["/bin/sh", "-c", script],
  cwd: "/",
  env,
});

async function output(entry: Process): Promise<string> {
  let text = "";
  for await (const { stream, bytes } of readOutput(entry.running)) {
    text += `${stream === "stderr" ? "!" : ""}${new TextDecoder().decode(bytes)}`;
  }
  return text;
}

async function logged(entry: Process, offset = 0): Promise<string> {
  let text = "";
  for await (const read of entry.log?.read(offset, { follow: true }) ?? []) {
    if ("piece" in read) text += new TextDecoder().decode(read.piece.bytes);
  }
  return text;
}

test("a process is in the list until it ends, and an attached one no longer", async () => {
  const processes = aList();
  const entry = await processes.start(aCommand("cat"), { stdin: true, name: "reader" });
  expect(processes.list()).toEqual([entry]);
  expect(processes.get(entry.running.pid)).toMatchObject({ name: "reader", end: undefined });
  entry.running.stdin?.end("typed");
  expect(await output(entry)).toBe("typed");
  expect(await entry.ended).toMatchObject({ exitCode: 0, signal: undefined, timedOut: false });
  expect(processes.list()).toEqual([]);
});

test("a process can open its input by name, and gets all of it", async () => {
  const entry = await aList().start(aCommand("wc -c </dev/stdin"), { stdin: true });
  entry.running.stdin?.end(new Uint8Array(1_000_000));
  expect(await output(entry)).toBe("1000000\n");
});

test("writing to a process that does not read any more is an error, not an end of the runtime", async () => {
  const entry = await aList().start(aCommand("exec <&-; echo closed; sleep 300"), { stdin: true });
  await new Promise((resolve) => entry.running.stdout.once("data", resolve));
  const written = new Promise((resolve) => entry.running.stdin?.write("lost", resolve));
  expect(await written).toMatchObject({ code: "EPIPE" });
});

test("a command that is run is in the list while it runs", async () => {
  const processes = aList();
  const running = processes.run(aCommand("read line <&2; sleep 300"), { timeoutMs: undefined, outputBytes: 10 });
  await eventually(() => processes.list().length).toBe(1);
  processes.list()[0]?.kill();
  expect(await running).toMatchObject({ exitCode: -1 });
  await eventually(() => processes.list()).toEqual([]);
});

test("what is bound is laid under a command's own variables, and asked for at each start", async () => {
  const bound: Record<string, string> = { A: "bound", B: "bound" };
  const processes = aList({ env: () => bound });
  const limits = { timeoutMs: undefined, outputBytes: 100 };
  const echo = async () => {
    const { stdout } = await processes.run(aCommand('echo "$A $B $C"', { A: "own" }), limits);
    return new TextDecoder().decode(stdout);
  };
  expect(await echo()).toBe("own bound \n");
  bound["C"] = "late";
  expect(await echo()).toBe("own bound late\n");
});

test("a detached process stays in the list with its output until it is removed", async () => {
  const processes = aList();
  const entry = await processes.start(aCommand("printf one; printf two >&2; exit 4"), { detached: true });
  expect(await entry.ended).toMatchObject({ exitCode: 4 });
  expect((await logged(entry)).split("").sort().join("")).toBe("enootw");
  expect(processes.get(entry.running.pid)).toBe(entry);
  processes.remove(entry.running.pid);
  expect(processes.list()).toEqual([]);
});

test("a running process cannot be removed", async () => {
  const processes = aList();
  const entry = await processes.start(aCommand("sleep 300"), { detached: true });
  processes.remove(entry.running.pid);
  expect(processes.list()).toEqual([entry]);
});

test("only the last few that have ended are kept: more of those whose end nobody has had", async () => {
  const processes = aList({ keepEnded: 1, keepUnasked: 2 });
  const run = async (name: string, isDelivered: boolean) => {
    const entry = await processes.start(aCommand("true"), { detached: true, name });
    entry.isDelivered = isDelivered;
    await entry.ended;
  };
  const slow = await processes.start(aCommand("read x"), { detached: true, stdin: true, name: "slow" });
  for (const name of ["a", "b", "c"]) await run(name, true);
  await eventually(() => processes.list().map(({ name }) => name)).toEqual(["slow", "c"]);
  for (const name of ["d", "e"]) await run(name, false);
  slow.running.stdin?.end();
  await slow.ended;
  // It began first, and ended last.
  await eventually(() => processes.list().map(({ name }) => name).sort()).toEqual(["c", "e", "slow"]);
});

test("of the output of what has ended, the oldest goes first; the ends stay", async () => {
  const processes = aList({ keepEndedBytes: 250_000 });
  const ended: Process[] = [];
  for (let n = 0; n < 3; n++) {
    const entry = await processes.start(aCommand("head -c 100000 /dev/zero; exit 3"), { detached: true });
    await entry.ended;
    ended.push(entry);
  }
  await eventually(() => ended.map(({ log }) => (log?.memoryBytes() ?? 0) > 0)).toEqual([false, true, true]);
  expect(processes.list().map(({ end, log }) => [end?.exitCode, log?.size()])).toEqual(Array(3).fill([3, 100_000]));
});

test("a detached process does not wait for a reader, and keeps the end of its output", async () => {
  const processes = aList({ keepOutputBytes: 100_000 });
  const entry = await processes.start(aCommand("head -c 3000000 /dev/zero; echo end"), { detached: true });
  await entry.ended;
  const text = await logged(entry);
  expect(text.length).toBeLessThanOrEqual(100_000);
  expect(text.endsWith("end\n")).toBe(true);
});

test.for([{ timeoutMs: 50, timedOut: true }, { signal: AbortSignal.abort(), timedOut: false }])(
  "a process is killed at its limit %j",
  async ({ timedOut, ...limit }) => {
    const entry = await aList().start(aCommand("sleep 300"), { detached: true, ...limit });
    expect(await entry.ended).toMatchObject({ exitCode: -1, signal: "SIGKILL", timedOut });
  },
);

test("a slow reader holds the process up, and gets everything", async () => {
  const entry = await aList().start(aCommand("head -c 20000000 /dev/zero; echo written >&2"));
  const reader = readOutput(entry.running);
  let length = (await reader.next()).value?.bytes.length ?? 0;
  await eventually(() => entry.running.stdout.isPaused()).toBe(true);
  expect(entry.end).toBeUndefined();
  for await (const { bytes } of reader) length += bytes.length;
  expect(length).toBe(20_000_008);
});

test("a reader that is behind when the process ends still gets everything", async () => {
  const entry = await aList().start(aCommand("head -c 310000 /dev/zero"));
  const reader = readOutput(entry.running);
  let length = (await reader.next()).value?.bytes.length ?? 0;
  await eventually(() => entry.running.stdout.isPaused()).toBe(true);
  await entry.ended;
  // Longer than the silence that counts as an end.
  await new Promise((resolve) => setTimeout(resolve, 200));
  for await (const { bytes } of reader) length += bytes.length;
  expect(length).toBe(310_000);
});

test("a reader that leaves lets the process go on", async () => {
  const entry = await aList().start(aCommand("head -c 20000000 /dev/zero"));
  for await (const _ of readOutput(entry.running)) break;
  expect(await entry.ended).toMatchObject({ exitCode: 0 });
});

test("who reads and who acts is counted as activity", async () => {
  const processes = aList();
  const entry = await processes.start(aCommand("sleep 300"), { detached: true });
  const before = processes.lastActiveAt();
  const detach = processes.attach(entry);
  expect(entry.attached).toBe(1);
  detach();
  expect(entry.attached).toBe(0);
  expect(processes.lastActiveAt().getTime()).toBeGreaterThanOrEqual(before.getTime());
});

test("no descriptor is left open by what has ended", async () => {
  const processes = aList();
  const open = () => readdirSync("/proc/self/fd").length;
  const round = async () => {
    const entries = [
      await processes.start(aCommand("echo x"), { stdin: true }),
      await processes.start(aCommand("echo x"), { detached: true }),
      await processes.start(aCommand("echo x"), { size: { cols: 80, rows: 24 } }),
    ];
    for (const entry of entries) if (!entry.log) await output(entry);
    await Promise.all(entries.map(({ ended }) => ended));
    await processes.run(aCommand("echo x"), { timeoutMs: undefined, outputBytes: 10 });
    await expect(processes.start({ argv: ["no-such-program-here"], cwd: "/", env: {} })).rejects.toThrow();
  };
  await round();
  const before = open();
  for (let count = 0; count < 5; count++) await round();
  await eventually(open).toBeLessThanOrEqual(before);
});

/** Prints a line by the name of the output, which only a pipe has. */
async function runByName(): Promise<string> {
  const command = aCommand("echo x >/dev/stdout");
  const { stdout } = await aList().run(command, { timeoutMs: undefined, outputBytes: 10 });
  return new TextDecoder().decode(stdout);
}

/** Deletes the folders that this process made for pipes, and returns how many there were. */
function deletePipes(): number {
  // Other test files, and other runs, have folders of that name too.
  const isOwn = (name: string) => name.startsWith(`hookbox-pipes-${process.pid}-`);
  const own = ["/run", tmpdir()].flatMap((parent) =>
    readdirSync(parent).filter(isOwn).map((name) => join(parent, name))
  );
  for (const folder of own) rmSync(folder, { recursive: true });
  return own.length;
}

test("pipes do not depend on the folder that they are made in", async () => {
  expect(await runByName()).toBe("x\n");
  expect(deletePipes()).toBeGreaterThan(0);
  expect(await Promise.all([runByName(), runByName()])).toEqual(["x\n", "x\n"]);
});

test("pipes are used again when there is a place for them again", async () => {
  expect(await runByName()).toBe("x\n");
  deletePipes();
  vi.stubEnv("TMPDIR", "/missing");
  // Root does not need it: its pipes are in /run.
  if (process.getuid?.() === 0) process.seteuid?.(65534);
  try {
    for (let count = 0; count < 5; count++) expect(await runByName()).toBe("");
  } finally {
    if (process.getuid?.() === 0) process.seteuid?.(0);
    vi.unstubAllEnvs();
  }
  expect(await runByName()).toBe("x\n");
});

test.for([[0o755, true], [0o1777, true], [0o777, false], [0o775, false]] as const)(
  "root uses a folder with mode %o for sockets and pipes: %s",
  ([mode, isSafe]) => {
    const folder = makeTempFolder();
    chmodSync(folder, mode);
    expect(safeFolder([folder])).toBe(isSafe && process.getuid?.() === 0 ? folder : undefined);
    expect(safeFolder([join(folder, "missing")])).toBe(undefined);
  },
);
