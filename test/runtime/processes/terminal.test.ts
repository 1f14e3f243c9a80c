/** startTerminal(): a real terminal, its size, and its session's end. @module */
import { existsSync } from "node:fs";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import process from "node:process";
import { expect, test } from "vitest";
import { listProcesses } from "../../../packages/process/proctable.ts";
import { run } from "../../../packages/runtime/processes/run.ts";
import { startTerminal } from "../../../packages/runtime/processes/terminal.ts";
import { eventually } from "../../eventually.ts";

const SIZE = { cols: 91, rows: 33 };
const aCommand = (argv: string[], env: Record<string, string> = {}) => ({ argv, cwd: "/", env });
const first = (stream: Readable) => new Promise<string>((resolve) => stream.once("data", (data) => resolve(`${data}`)));
const script = (line: string) => startTerminal(aCommand(["/bin/sh", "-c", line], { A: "é" }), SIZE);

test("a program has a terminal of the size asked for, the environment and the exit code", async () => {
  const terminal = await script('test -t 0 && test -t 2 && stty size; echo "$A $TERM"; exit 7');
  expect(await text(terminal.stdout)).toBe(`33 91\r\né ${process.env["TERM"] ?? "xterm-256color"}\r\n`);
  expect(await terminal.ended).toEqual({ exitCode: 7, signal: undefined });
});

test("resize() reaches the program, and input too", async () => {
  const terminal = await script("stty -echo; echo ready; read line; stty size; echo $line");
  const output = text(terminal.stdout);
  terminal.resize({ cols: 50, rows: 20 });
  terminal.stdin.write("typed\n");
  expect(await output).toMatch(/20 50\r\ntyped\r\n$/);
});

test("an end of input is Ctrl-D", async () => {
  const terminal = await startTerminal(aCommand(["cat"]), SIZE);
  terminal.stdin.end("line\n");
  expect(await text(terminal.stdout)).toContain("line\r\n");
  expect((await terminal.ended).exitCode).toBe(0);
});

test("the whole session is killed, with the groups that job control made", async () => {
  const terminal = await script("set -m; sleep 300 & sleep 300 & echo started; wait");
  await first(terminal.stdout);
  terminal.kill();
  expect(await terminal.ended).toEqual({ exitCode: -1, signal: "SIGKILL" });
  await eventually(() => listProcesses().filter((one) => one.sid === terminal.pid && one.state !== "Z")).toEqual([]);
});

test.for([
  { argv: ["no-such-program-here"], code: "not-found" },
  { argv: ["/etc/passwd"], code: "not-executable" },
  { argv: ["/bin"], code: "not-executable" },
  { argv: [], code: "invalid" },
])("startTerminal() of $argv throws $code", async ({ argv, code }) => {
  await expect(startTerminal(aCommand(argv), SIZE)).rejects.toMatchObject({ name: "SpawnError", code });
});

test.for([{ cols: 0, rows: 1 }, { cols: 1, rows: 65_536 }, { cols: 1.5, rows: 1 }])(
  "no terminal of %j",
  async (size) => {
    await expect(startTerminal(aCommand(["true"]), size)).rejects.toMatchObject({ code: "invalid" });
  },
);

test("a slow reader holds the program up and loses nothing", async () => {
  const terminal = await script("stty -onlcr; head -c 3000000 /dev/zero; sleep 0.5");
  let length = 0;
  for await (const part of terminal.stdout) length += part.length;
  expect(length).toBe(3_000_000);
});

test("a terminal is closed when its program has ended and nobody reads it any more", async () => {
  const terminal = await script("echo $(tty); exit 0");
  const [, path] = /(\/dev\/pts\/\d+)/.exec(await first(terminal.stdout)) ?? [];
  expect(existsSync(path ?? "")).toBe(true);
  await terminal.ended;
  terminal.release();
  await eventually(() => existsSync(path ?? "")).toBe(false);
});

test("no other process gets the descriptors of a terminal", async () => {
  const terminal = await script("sleep 300");
  const { stdout } = await run(aCommand(["ls", "-l", "/proc/self/fd"]), { timeoutMs: undefined, outputBytes: 10_000 });
  terminal.kill();
  expect(new TextDecoder().decode(stdout)).not.toMatch(/ptmx|pts/);
});
