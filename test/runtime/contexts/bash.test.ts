/** Code of bash: what stays between runs, what ends a run, and what an interrupt leaves. @module */
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { type Kernel, startKernel } from "../../../packages/runtime/contexts/kernel.ts";
import { makeTempFolder } from "../../tempfolder.ts";

/** Starts an interpreter, and returns a function that runs code in it. */
async function aShell() {
  const folder = makeTempFolder();
  const kernel = await startKernel("bash", folder, {});
  onTestFinished(() => kernel.kill());
  return { kernel, folder, run: async (code: string) => await gathered(kernel.run(code)) };
}

/** Gathers what a run yields. `error`: `name: value`. */
async function gathered({ events }: ReturnType<Kernel["run"]>) {
  const all = { stdout: "", stderr: "", error: "" };
  for await (const event of events) {
    if ("stdout" in event) all.stdout += event.stdout;
    if ("stderr" in event) all.stderr += event.stderr;
    if ("error" in event) all.error += `${event.error.name}: ${event.error.value}`;
  }
  return all;
}

const fine = { stdout: "", stderr: "", error: "" };

test("variables, arrays, functions, aliases, options and the folder stay", async () => {
  const { run } = await aShell();
  const set =
    "x='a b'; export Y=é; a=(1 'two words'); declare -A m=([k]=v)\nf() { echo \"f $1 $x\"; }\nalias l='echo l'\n";
  expect(await run(`${set}set -o pipefail; cd /usr`)).toEqual(fine);
  const read = 'f 1; l; pwd; echo "${a[1]} ${m[k]}"; printenv Y; false | true';
  expect(await run(read)).toEqual({
    stdout: "f 1 a b\nl\n/usr\ntwo words v\né\n",
    stderr: "",
    error: "ExitCode: 1",
  });
});

test("messages name bash and the line of the code", async () => {
  const { run } = await aShell();
  expect(await run("echo 1\nnosuch")).toEqual({
    stdout: "1\n",
    stderr: "bash: line 2: nosuch: command not found\n",
    error: "ExitCode: 127",
  });
  expect((await run("for (")).stderr).toContain("syntax error near unexpected token");
  expect(await run("true")).toEqual(fine);
});

test.for([
  ["exit 3", "ExitCode: 3"],
  ["g() { exit 4; }; g", "ExitCode: 4"],
  ["set -e; false", "ExitCode: 1"],
  ["set -u; echo $nothing", "ExitCode: 1"],
  [": ${nothing:?}", "ExitCode: 1"],
])("`%s` ends the code, and not the shell's state", async ([code = "", error]) => {
  const { run } = await aShell();
  await run("x=5; a=(1 2); f() { echo f $x; }; alias l='echo l'; cd /usr");
  expect(await run(`${code}; echo never`)).toMatchObject({ stdout: "", error });
  expect(await run("set +eu; f; l; pwd; echo ${#a[@]}")).toEqual({ ...fine, stdout: "f 5\nl\n/usr\n2\n" });
  expect((await run("nosuch")).stderr).toBe("bash: line 1: nosuch: command not found\n");
  expect((await run("declare -p | grep -c hookbox_code; env | grep -c __hookbox")).stdout).toMatch(/^\d\n0\n$/);
});

test.for([
  "sleep 300",
  "while true; do :; done",
  "f() { while true; do sleep 0.01; done; }; f",
  "(while true; do :; done)",
  "sleep 300 & wait",
  "set -e; sleep 300",
  "set -u; sleep 300",
])("an interrupt ends `%s`, and what comes after it, whenever it comes", async (code) => {
  const { kernel, run } = await aShell();
  await run("x=5");
  for (let round = 0; round < 8; round++) {
    const running = gathered(kernel.run(`${code}\necho never`));
    await delay(round);
    kernel.interrupt();
    expect(await running).toMatchObject({ stdout: "", error: "Interrupted: " });
  }
  kernel.interrupt();
  expect(await run("set +eu; echo $x; shopt -q extdebug || [[ -o functrace ]] || echo calm")).toEqual({
    ...fine,
    stdout: "5\ncalm\n",
  });
});

test("the code has no access to the descriptors of hookbox, and may use 3 and 4", async () => {
  const { run, folder } = await aShell();
  const file = join(folder, "file");
  onTestFinished(() => rmSync(file, { force: true }));
  expect(await run("ls -l /proc/self/fd | grep -c socket:")).toMatchObject({ stdout: "0\n" });
  expect(await run("exec 3>file 4>&3; echo three >&3; echo four >&4")).toEqual(fine);
  expect(readFileSync(file, "utf8")).toBe("three\nfour\n");
  expect(await run("echo more >&3; cat file")).toEqual({ ...fine, stdout: "three\nfour\nmore\n" });
});

test("standard input is empty, a job in the background does not hold up its run, and zero bytes are ignored", async () => {
  const { run } = await aShell();
  expect(await run("cat; read x; sleep 300 & echo next")).toEqual({ ...fine, stdout: "next\n" });
  expect(await run("echo a\0b")).toEqual({ ...fine, stdout: "ab\n" });
});

test("exec replaces the shell, so that its state is lost", async () => {
  const { run, kernel } = await aShell();
  expect((await run("exec sleep 300")).error).toMatch(/^KernelDied: .*ran exec/);
  expect(kernel.alive()).toBe(false);
});
