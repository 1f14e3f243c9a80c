/** hookbox.runtime.v1.ContextsService over gRPC: state, values by MIME type, errors, limits; both languages. @module */
import { Code } from "@connectrpc/connect";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Result } from "../../../packages/runtime-api/gen/hookbox/runtime/v1/contexts_pb.ts";
import { eventually } from "../../eventually.ts";
import { hurry } from "../../hurry.ts";
import { aClient } from "./running.ts";

const js = { language: "javascript" };
const texts = ({ results }: { results: Result[] }) => results.map(({ text }) => text);

test.for([
  {
    language: "python",
    soon: "import asyncio\nawait asyncio.sleep(0)\n5",
    set: "x = 20\ndef f(n): return n + x",
    use: "x += 1; print('out'); f(1)",
    main: "22",
  },
  {
    language: "javascript",
    soon: "await Promise.resolve(5)",
    set: "const x = 20; let n = 1",
    use: "const x = 21; console.log('out'); x + n",
    main: "22",
  },
  {
    language: "typescript",
    soon: "await Promise.resolve(5)",
    set: "enum E { A = 4 }",
    use: "console.log('out'); const a: number = E.A; a",
    main: "4",
  },
])("$language keeps its state and has await; the last expression is the main result", async (of) => {
  const { language, set, use, main, soon } = of;
  const { run } = await aClient();
  expect(await run(set, { language })).toMatchObject({ stdout: "", results: [], error: "", count: 1 });
  const second = await run(use, { language });
  expect(second).toMatchObject({ stdout: "out\n", error: "", count: 2, timedOut: false });
  expect(second.results).toMatchObject([{ text: main, isMainResult: true }]);
  expect(texts(await run(soon, { language }))).toEqual(["5"]);
});

const FAILING = [
  {
    language: "python",
    fails: [
      ["def f():\n    return 1 / 0\nf()", "ZeroDivisionError: division by zero", /line 2, in f\n +return 1/],
      ["1 +", "SyntaxError: invalid syntax (<cell 2>, line 1)", /1 \+/],
      ["raise SystemExit(3)", "SystemExit: 3", /SystemExit: 3/],
    ],
  },
  {
    language: "javascript",
    fails: [
      ["function f() { null.x }\nf()", "TypeError: Cannot read properties of null (reading 'x')", /at f/],
      ["foo(", "SyntaxError: Unexpected end of input", /SyntaxError/],
      ["throw 5", "Error: 5", /Uncaught 5/],
    ],
  },
] as const;

test.for(FAILING)("$language: errors come without frames of ours, and leave the interpreter", async (of) => {
  const { run } = await aClient();
  const { language, fails } = of;
  for (const [index, [code, error, at]] of fails.entries()) {
    const ran = await run(code, { language });
    expect(ran).toMatchObject({ error, results: [], count: index + 1 });
    expect(ran.traceback).toMatch(at);
    expect(ran.traceback).not.toMatch(/kernel\.|node:/);
  }
  expect(texts(await run("1", { language }))).toEqual(["1"]);
});

test("JavaScript: an error shows what led to it", async () => {
  const { run } = await aClient();
  const refused = await run("await fetch('http://127.0.0.1:9')", js);
  expect(refused).toMatchObject({ error: "TypeError: fetch failed" });
  expect(refused.traceback).toMatch(/\n\[cause\]: Error: bad port/);
  const all = "await Promise.any([Promise.reject(new Error('a', { cause: 'b' })), Promise.reject(7)])";
  const { traceback } = await run(all, js);
  expect(traceback).toMatch(/\n\[errors 0\]: Error: a\n.*\n\[cause\]: 'b'\n\[errors 1\]: 7$/s);
  const circle = await run(
    "const e = new Error('c'); e.cause = e; e.errors = Array(1000).fill().map(() => e); throw e",
    js,
  );
  expect(circle).toMatchObject({ error: "Error: c", traceback: expect.not.stringContaining("[") });
});

test.for([
  { language: "python", code: "import os\nprint('in', end='')\nos.system('echo child; echo bad >&2')\nNone" },
  {
    language: "javascript",
    code:
      "process.stdout.write('in'); require('node:child_process').execSync('echo child; echo bad >&2', { stdio: 'inherit' }); undefined",
  },
])("$language: what child processes write comes too, before the end", async ({ language, code }) => {
  const { run } = await aClient();
  const { stdout, stderr } = await run(code, { language });
  expect([stdout.includes("in"), stdout.includes("child\n"), stderr]).toEqual([true, true, "bad\n"]);
});

test.for(["python", "javascript"])("%s: code may begin with a byte order mark, as files do", async (language) => {
  const { run } = await aClient();
  expect(texts(await run("\ufeff1 + 1\r\n", { language }))).toEqual(["2"]);
});

test("JavaScript imports modules, also those next to the working folder's code", async () => {
  const { run, root } = await aClient();
  writeFileSync(join(root, "own.mjs"), "export default 7; export const a = 8; export const b = 9;");
  const code =
    'import seven, { a, b as nine } from "./own.mjs";\nimport * as path from "node:path";\n[seven, a, nine, path.sep, "import(x)"]';
  expect(texts(await run(code, js))).toEqual(["[ 7, 8, 9, '/', 'import(x)' ]"]);
  expect(texts(await run('(await import("./own.mjs")).a', js))).toEqual(["8"]);
});

test.for([
  { language: "python", loop: "while True: pass", wait: "import time; time.sleep(300)", error: "KeyboardInterrupt: " },
  { language: "javascript", loop: "while (true) {}", wait: "await new Promise(() => {})", error: "Interrupted: " },
])(
  "$language: the time limit breaks off, and the state stays",
  async ({ language, loop, wait, error }) => {
    const { run } = await aClient();
    await run(language === "python" ? "x = 5" : "let x = 5", { language });
    const ran = await run(loop, { language, timeoutMs: 300n });
    expect(ran).toMatchObject({ error, timedOut: true });
    expect(ran.traceback).not.toMatch(/kernel\./);
    expect(await run(wait, { language, timeoutMs: 300n })).toMatchObject({ error, timedOut: true });
    expect(texts(await run("x", { language }))).toEqual(["5"]);
  },
);

test("code that does not heed an interrupt is killed with its interpreter", async () => {
  const { client, run } = await aClient();
  const { context } = await client.createContext({});
  const contextId = context?.contextId ?? "";
  await run("import signal; signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])", { contextId });
  hurry(20);
  expect(await run("while True: pass", { contextId, timeoutMs: 1000n })).toMatchObject({
    error: "KernelDied: The interpreter ended (the code ignored an interrupt and was killed)",
    timedOut: true,
  });
  await expect(run("1", { contextId })).rejects.toMatchObject({ code: Code.FailedPrecondition });
  expect(await client.restartContext({ contextId })).toMatchObject({ context: { contextId, alive: true } });
  expect(await run("1", { contextId })).toMatchObject({ error: "", count: 1 });
});

test("an interpreter that dies is an error of the run, told once", async () => {
  const { run } = await aClient();
  const { error } = await run("import os; os._exit(7)");
  expect(error).toBe("KernelDied: The interpreter ended (exit code 7)");
});

test("a caller that leaves breaks its code off; the next one waits for that", async () => {
  const { client, run, root, contexts } = await aClient();
  const leave = new AbortController();
  // That the context is busy does not say that its interpreter has begun.
  const left = run("x = 1; open('begun', 'w'); import time; time.sleep(300)", {}, { signal: leave.signal });
  await eventually(() => existsSync(join(root, "begun"))).toBe(true);
  expect(await client.listContexts({})).toMatchObject({ contexts: [{ language: "python", alive: true, busy: true }] });
  leave.abort();
  await expect(left).rejects.toMatchObject({ code: Code.Canceled });
  expect(texts(await run("x"))).toEqual(["1"]);
  expect(contexts.busy()).toBe(0);
});

test("InterruptContext breaks off; runs on one context wait for each other", async () => {
  const { client, run, root, contexts } = await aClient();
  const code = "print(1); import time; open('begun', 'w'); time.sleep(300)";
  const [first, second] = [run(code), run("2")];
  await eventually(() => existsSync(join(root, "begun"))).toBe(true);
  expect(contexts.busy()).toBe(1);
  await client.interruptContext({ contextId: contexts.list()[0]?.id ?? "" });
  expect(await first).toMatchObject({ stdout: "1\n", error: "KeyboardInterrupt: ", count: 1 });
  expect(await second).toMatchObject({ count: 2 });
});

test("contexts are apart, have their folder and variables, and are removed", async () => {
  const { client, run, root, contexts } = await aClient();
  mkdirSync(join(root, "in"));
  const { context } = await client.createContext({ language: "javascript", cwd: "in", envVars: { A: "b" } });
  const contextId = context?.contextId ?? "";
  expect(texts(await run("[process.cwd(), process.env.A]", { contextId }))).toEqual([`[ '${root}/in', 'b' ]`]);
  expect((await run("typeof A", js)).results[0]?.text).toBe("'undefined'");
  await client.removeContext({ contextId });
  await expect(run("1", { contextId })).rejects.toMatchObject({ code: Code.NotFound });
  expect(contexts.list().length).toBe(1);
});

test.for([
  { request: { language: "cobol" }, code: Code.InvalidArgument },
  { request: { cwd: ".." }, code: Code.PermissionDenied },
  { request: { cwd: "missing" }, code: Code.NotFound },
])("CreateContext refuses $request", async ({ request, code }) => {
  const { client } = await aClient();
  await expect(client.createContext(request)).rejects.toMatchObject({ code });
});

test("much output comes whole", async () => {
  const { run } = await aClient();
  expect((await run("for i in range(3000): print('x' * 9999)")).stdout.length).toBe(30_000_000);
});
