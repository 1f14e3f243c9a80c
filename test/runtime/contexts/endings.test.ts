/** Code that ends its interpreter, in any way: the run reports it, the next code gets a new one, nothing hangs. @module */
import { expect, onTestFinished, test } from "vitest";
import { type CodeContext, type Contexts, createContexts } from "../../../packages/runtime/contexts/contexts.ts";
import type { Language } from "../../../packages/runtime/contexts/kernel.ts";
import { until } from "../../eventually.ts";
import { makeTempFolder } from "../../tempfolder.ts";

async function aContext(language: Language) {
  const contexts = createContexts(makeTempFolder());
  onTestFinished(() => contexts.killAll());
  return { contexts, context: await contexts.create(language, makeTempFolder(), {}) };
}

async function run(contexts: Contexts, context: CodeContext, code: string, timeoutMs?: number) {
  const ran = { out: "", err: "", error: "", result: "", count: 0 };
  for await (const event of contexts.run(context, code, { timeoutMs })) {
    if ("stdout" in event) ran.out += event.stdout;
    if ("stderr" in event) ran.err += event.stderr;
    if ("error" in event) ran.error += `${event.error.name}: ${event.error.value}`;
    if ("result" in event) ran.result += event.result["text/plain"];
    if ("executionCount" in event) ran.count = event.executionCount;
  }
  return ran;
}

const FIFO =
  "const { execSync } = require('child_process'); execSync('mkfifo pipe'); require('fs').readFile('pipe', () => {});";

test.for<[Language, string, string]>([
  ["javascript", "process.exit(0)", "exit code 0"],
  ["javascript", "console.log('before'); process.exit(3)", "exit code 3"],
  ["javascript", "process.exitCode = 4; process.exit()", "exit code 4"],
  ["javascript", "process.removeAllListeners('exit'); process.exit(5)", "exit code 5"],
  ["javascript", "setTimeout(() => process.exit(1), 20); await new Promise(() => {})", "exit code 1"],
  ["javascript", "Promise.resolve().then(() => process.exit(2)); await new Promise(() => {})", "exit code 2"],
  ["javascript", `${FIFO} process.exit(6)`, "exit code 6"],
  ["javascript", "process.on('exit', () => { for (;;); }); process.exit(7)", "exit code 7"],
  ["javascript", "new (require('worker_threads').Worker)('for(;;);', { eval: true }); process.exit(8)", "exit code 8"],
  ["javascript", "process.reallyExit(9)", "exit code 9"],
  ["javascript", "process.kill(process.pid, 'SIGKILL'); await new Promise(() => {})", "signal SIGKILL"],
  ["javascript", "process.abort()", "signal SIGABRT"],
  ["javascript", "require('fs').closeSync(4); await new Promise(() => {})", "closed a descriptor"],
  ["javascript", "require('fs').closeSync(3); await new Promise(() => {})", "closed a descriptor"],
  ["python", "import os; os._exit(7)", "exit code 7"],
  ["python", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "signal SIGKILL"],
  ["python", "import ctypes; ctypes.string_at(0)", "signal SIGSEGV"],
  ["python", "import os; os.abort()", "signal SIGABRT"],
  ["python", "import os, time; os.closerange(0, 256); time.sleep(600)", "closed a descriptor"],
  ["python", "import os; os.execvp('sleep', ['sleep', '600'])", "closed a descriptor"],
  ["python", "import os, time\nif os.fork() == 0: time.sleep(600)\nos._exit(1)", "exit code 1"],
])("%s: %s", async ([language, code, how]) => {
  const { contexts, context } = await aContext(language);
  const { error, count } = await run(contexts, context, code);
  expect(error).toMatch(/^KernelDied: /);
  expect(error).toContain(how);
  expect(count).toBe(1);
  expect(contexts.busy()).toBe(0);
  await expect(run(contexts, context, "1")).rejects.toThrow(how);
  await contexts.restart(context);
  expect(await run(contexts, context, "1 + 1")).toMatchObject({ result: "2", error: "", count: 1 });
});

test("code that was waiting is not taken for code that ran", async () => {
  const { contexts, context } = await aContext("python");
  const first = run(contexts, context, "import os, sys; sys.stdin.read(); os._exit(1)");
  const second = run(contexts, context, "open('ran', 'w')");
  expect((await first).error).toContain("exit code 1");
  await expect(second).rejects.toThrow("its python interpreter ended (exit code 1), and its variables are lost");
});

test("the default context gets a new interpreter by itself, and says so once", async () => {
  const contexts = createContexts(makeTempFolder());
  onTestFinished(() => contexts.killAll());
  const context = await contexts.default("python");
  await run(contexts, context, "x = 1; import os; os._exit(3)");
  const next = await run(contexts, context, "'x' in globals()");
  expect(next).toMatchObject({ result: "False", error: "", count: 1 });
  expect(next.err).toContain("the python interpreter had ended (exit code 3)");
  expect(await run(contexts, context, "1")).toMatchObject({ err: "", count: 2 });
});

test("two restarts at once leave one interpreter; code that waits runs in it", async () => {
  const { contexts, context } = await aContext("python");
  const waiting = run(contexts, context, "import time; time.sleep(600)");
  const behind = run(contexts, context, "import os; os.getpid()");
  await until(() => context.busy);
  const { kernel } = context;
  await Promise.all([contexts.restart(context), contexts.restart(context)]);
  expect((await waiting).error).toContain("its context was restarted");
  expect((await behind).error).toBe("");
  expect([kernel.alive(), context.kernel.alive()]).toEqual([false, true]);
});

test("a copy of the interpreter that code forks does not answer for it", async () => {
  const { contexts, context } = await aContext("python");
  const code =
    "import os\npid = os.fork()\nif pid: os.waitpid(pid, 0)\nprint('parent' if pid else 'child', flush=True)\n7";
  const ran = await run(contexts, context, code);
  expect(ran.out.match(/parent|child/g)?.sort()).toEqual(["child", "parent"]);
  expect(ran).toMatchObject({ error: "", count: 1 });
  for (let n = 2; n < 6; n++) expect(await run(contexts, context, `${n}`)).toMatchObject({ result: `${n}`, count: n });
});

test("a copy that code forks ends as a program does", async () => {
  const { contexts, context } = await aContext("python");
  const fork = (body: string) =>
    `import os, sys\npid = os.fork()\nif not pid:\n    ${body}\nos.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])`;
  expect(await run(contexts, context, fork("sys.exit(5)"))).toMatchObject({ result: "5" });
  expect(await run(contexts, context, fork("1 / 0"))).toMatchObject({ result: "1", err: /ZeroDivisionError/ });
});
