/** createContexts(): readers that leave, and what child processes wrote last. @module */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createContexts } from "../../../packages/runtime/contexts/contexts.ts";
import type { Language } from "../../../packages/runtime/contexts/kernel.ts";
import { eventually, settled } from "../../eventually.ts";
import { watchForCrashes } from "../../fuzz/wire.ts";
import { makeTempFolder } from "../../tempfolder.ts";

async function aContext(folder = "/") {
  const contexts = createContexts(folder);
  onTestFinished(() => contexts.killAll());
  return { contexts, context: await contexts.default("python") };
}

test("a reader that leaves breaks its code off; the next one waits for that, and the state stays", async () => {
  const { contexts, context } = await aContext();
  for await (const _ of contexts.run(context, "x = 5; print(1)\nwhile True: pass", {})) break;
  expect(contexts.busy()).toBe(0);
  const events: object[] = [];
  for await (const event of contexts.run(context, "x", {})) events.push(event);
  expect(events).toMatchObject([{ result: { "text/plain": "5" } }, { executionCount: 2 }]);
});

test("a reader that aborts and leaves interrupts the code once: the code may need time to end", async () => {
  const { contexts, context } = await aContext();
  const file = join(makeTempFolder(), "hits");
  const code = `import signal, time
hits = []
def hit(*_):
    hits.append(1)
    open(${JSON.stringify(file)}, "w").close()
signal.signal(signal.SIGINT, hit)
print("begun")
while not hits: time.sleep(0.01)
time.sleep(0.5)`;
  const leaving = new AbortController();
  for await (const _ of contexts.run(context, code, { signal: leaving.signal })) {
    leaving.abort();
    await eventually(() => existsSync(file)).toBe(true);
    break;
  }
  const results = [];
  for await (const event of contexts.run(context, "len(hits)", {})) if ("result" in event) results.push(event.result);
  expect(results).toEqual([{ "text/plain": "1" }]);
});

test("what a child process wrote last comes before the end, each time", async () => {
  const { contexts, context } = await aContext();
  for (let round = 0; round < 10; round++) {
    let length = 0;
    for await (const event of contexts.run(context, "import os; os.system('head -c 60000 /dev/zero'); None", {})) {
      if ("stdout" in event) length += event.stdout.length;
    }
    expect(length).toBe(60_000);
  }
});

test("one default context serves those who ask at once", async () => {
  const { contexts, context } = await aContext();
  expect(await Promise.all([contexts.default("python"), contexts.default("python")])).toEqual([context, context]);
  contexts.remove(context);
  expect((await contexts.default("python")).id).not.toBe(context.id);
});

test.for(["x", "7", "null", '"ready"', "[]", '{"stdout":null}', '{"stderr":{"length":-1}}'])(
  "code that says %s for its interpreter ends that one, and nothing else",
  async (line) => {
    const { contexts, context } = await aContext();
    const { crashes, stop } = watchForCrashes();
    onTestFinished(stop);
    const events: object[] = [];
    const code = `import os, time\nos.write(4, ${JSON.stringify(`${line}\n`)}.encode())\ntime.sleep(20)`;
    for await (const event of contexts.run(context, code, {})) events.push(event);
    expect(crashes).toEqual([]);
    expect(events).toMatchObject([{ error: { name: "KernelDied" } }, {}]);
    expect(context.kernel.alive()).toBe(false);
  },
);

test("a reader that is behind holds the code up, and gets everything in the end", async () => {
  const folder = makeTempFolder();
  const { contexts, context } = await aContext(folder);
  const code = "for i in range(1000):\n  print('x' * 9999)\n  print(i, file=open('printed', 'w'))";
  const events = contexts.run(context, code, {});
  let length = 0;
  const take = async () => {
    const { value, done } = await events.next();
    if (value && "stdout" in value) length += value.stdout.length;
    return !done;
  };
  await take();
  const printed = await settled(() => Number(readFileSync(join(folder, "printed"), "utf8")));
  expect(printed * 10_000, "bytes while nobody reads").toBeLessThan(4_000_000);
  while (await take());
  expect(length).toBe(10_000_000);
});

test.for<[Language, string]>([
  ["python", 'Python is not installed in this sandbox: its PATH has no program "python3"'],
  ["bash", 'bash is not installed in this sandbox: its PATH has no program "bash"'],
  ["r", 'R is not installed in this sandbox: its PATH has no program "Rscript"'],
  ["java", 'A JDK is not installed in this sandbox: its PATH has no program "jshell"'],
])("%s that is not installed is refused by its name", async ([language, why]) => {
  const contexts = createContexts("/");
  const refused = contexts.create(language, "/", { PATH: "/nowhere" });
  await expect(refused).rejects.toMatchObject({ code: "not-found", message: `Cannot run ${language} code: ${why}` });
  expect(contexts.list()).toEqual([]);
});
