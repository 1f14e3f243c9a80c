/** Scripts that are longer than an argument of execve(2) may be. @module */
import { expect, test } from "vitest";
import { passLong } from "../../../packages/runtime/processes/command.ts";
import { run } from "../../../packages/runtime/processes/run.ts";
import { startTerminal } from "../../../packages/runtime/processes/terminal.ts";
import { readOutput } from "../../../packages/runtime/processes/output.ts";

const LIMITS = { timeoutMs: undefined, outputBytes: 4 << 20 };
const LONG = 300_000;

async function outputOf(argv: string[]) {
  const { stdout, stderr, exitCode } = await run({ argv, cwd: "/", env: {} }, LIMITS);
  return { stdout: new TextDecoder().decode(stdout), stderr: new TextDecoder().decode(stderr), exitCode };
}

test.for<[string, string[], string]>([
  ["a word", ["/bin/sh", "-c", `printf %s ${"a".repeat(LONG)} | wc -c`], `${LONG}\n`],
  ["a comment first", ["sh", "-c", `#!/bin/sh\n: ${"a".repeat(LONG)}\necho two`], "two\n"],
  ["a heredoc", ["sh", "-c", `wc -c <<'XX'\n${"a".repeat(LONG)}\nXX`], `${LONG + 1}\n`],
  ["arguments", ["sh", "-c", `: ${"a".repeat(LONG)}; echo "$0 $1 $#"`, "zero", "one two"], "zero one two 1\n"],
  ["its end", ["sh", "-c", `: ${"a".repeat(LONG)}; exit 7`], ""],
  [
    "bash with options",
    ["bash", "--norc", "-ec", `a=(${"1 ".repeat(LONG / 2)}); echo \${#a[@]}; false; echo no`],
    `${LONG / 2}\n`,
  ],
  ["its descriptors and variables", [
    "sh",
    "-c",
    `: ${"a".repeat(LONG)}; [ -e /proc/self/fd/3 ] && echo open; env | grep -c HOOKBOX_SCRIPT; cat`,
  ], "0\n"],
  ["what is not ASCII", ["sh", "-c", `printf %s ${"☕".repeat(50_000)} | wc -c`], "150000\n"],
])("%s", async ([, argv, stdout]) => {
  const ran = await outputOf(argv);
  expect({ ...ran, exitCode: 0 }).toEqual({ stdout, stderr: "", exitCode: 0 });
  if (argv.at(-1)?.endsWith("exit 7")) expect(ran.exitCode).toBe(7);
});

test("on a terminal", async () => {
  const argv = ["sh", "-c", `: ${"a".repeat(LONG)}; echo $((40 + 2))`];
  const terminal = await startTerminal({ argv, cwd: "/", env: {} }, { cols: 80, rows: 24 });
  let text = "";
  for await (const { bytes } of readOutput(terminal)) text += new TextDecoder().decode(bytes);
  expect(text).toBe("42\r\n");
});

test("what cannot be passed on is said with its length", async () => {
  const long = "x".repeat(LONG);
  const message = `an argument or value has ${LONG} bytes, but the system allows 131071`;
  await expect(run({ argv: ["python3", "-c", long], cwd: "/", env: {} }, LIMITS)).rejects.toThrow(message);
  await expect(run({ argv: ["true"], cwd: "/", env: { A: long } }, LIMITS)).rejects.toThrow('Cannot set variable "A"');
  const many = Array.from({ length: 60 }, () => "x".repeat(100_000));
  await expect(run({ argv: ["true", ...many], cwd: "/", env: {} }, LIMITS)).rejects.toThrow("together are longer");
  expect(passLong(["sh", "-c", "short"], {}, 3)).toEqual({ argv: ["sh", "-c", "short"], script: undefined });
});
