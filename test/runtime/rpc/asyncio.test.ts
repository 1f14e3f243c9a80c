/** Python code that uses the event loop before its first await, without an await, or with a loop of its own. @module */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { until } from "../../eventually.ts";
import { holdTimers } from "../../hurry.ts";
import { aClient } from "./running.ts";

const DEFINE = "import asyncio\nasync def m(n=1):\n    await asyncio.sleep(0.001)\n    return n";

const CASES: [string, string][] = [
  ["task = asyncio.create_task(m(5))\nawait task", "5"],
  ["tasks = [asyncio.create_task(m(i)) for i in range(3)]\nawait asyncio.gather(*tasks)", "[0, 1, 2]"],
  ["loop = asyncio.get_running_loop()\nr = loop.is_running()\nawait m()\nr", "True"],
  ["q = asyncio.Queue()\nw = asyncio.create_task(q.get())\nawait q.put(4)\nawait w", "4"],
  ["async with asyncio.timeout(60):\n    t = asyncio.create_task(m(4))\nawait t", "4"],
  ["await asyncio.sleep(0)\ntype(asyncio.create_task(m())).__name__", "'Task'"],
  ["class C:\n    def __init__(self): self.loop = asyncio.get_running_loop()\nc = C()\nawait m(8)", "8"],
  // As programs have it: they start the loop, and end it.
  ["asyncio.run(m(9))", "9"],
  ["loop = asyncio.new_event_loop()\nloop.run_until_complete(m(2))", "2"],
  ["loop = asyncio.get_event_loop()\nr = loop.run_until_complete(m(3))\nloop.close()\nr", "3"],
];

test("code may use the loop before its first await, or as a program does", async () => {
  const { run } = await aClient();
  await run(DEFINE);
  for (const [code, value] of [...CASES, ...CASES]) {
    const { error, results } = await run(code);
    expect([error, results.at(-1)?.text], code).toEqual(["", value]);
    const after = await run("await m(7)");
    expect([after.error, after.results[0]?.text], code).toEqual(["", "7"]);
  }
});

test("a task that is made without an await goes on with the next code that has one", async () => {
  const { run } = await aClient();
  await run(DEFINE);
  expect(await run("task = asyncio.create_task(m(7))\nloop = asyncio.get_running_loop()")).toMatchObject({ error: "" });
  const { results } = await run("[await task, loop is asyncio.get_running_loop()]");
  expect(results[0]?.text).toBe("[7, True]");
});

test("libraries find a loop only where one runs", async () => {
  const { run, root } = await aClient();
  const check =
    "import asyncio\ndef check():\n    try: asyncio.get_running_loop()\n    except RuntimeError: return 'none'\n    return 'runs'";
  writeFileSync(`${root}/lib.py`, check);
  expect((await run("import lib\nlib.check()")).results[0]?.text).toBe("'none'");
  expect((await run("import asyncio\nr = lib.check()\nawait asyncio.sleep(0)\nr")).results[0]?.text).toBe("'runs'");
  expect((await run("r = lib.check()\nawait asyncio.sleep(0, r)")).results[0]?.text).toBe("'runs'");
});

test("nothing runs if a later line cannot be compiled, and what an interrupt met does not go on", async () => {
  const { run, root } = await aClient();
  expect((await run("print('ran')\nreturn 1")).stdout).toBe("");
  // Not open(): Python drops an interrupt that meets it while it closes the file.
  const loop = "import asyncio, os\nn = 0\nos.mkdir('begun')\nwhile True:\n    n += 1\n    await asyncio.sleep(0.001)";
  const pass = holdTimers();
  const running = run(loop, { timeoutMs: 60_000n });
  await until(() => existsSync(join(root, "begun")));
  pass(60_000);
  expect(await running).toMatchObject({ timedOut: true });
  const { results } = await run("before = n\nawait asyncio.sleep(0.05)\nn - before");
  expect(results[0]?.text).toBe("0");
});
