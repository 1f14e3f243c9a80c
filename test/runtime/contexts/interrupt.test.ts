/** An interrupt is not lost, whenever it comes, and the interpreter lives on. @module */
import process from "node:process";
import { setTimeout as delay } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { type Kernel, type Language, startKernel } from "../../../packages/runtime/contexts/kernel.ts";

/** Returns what a run yields, as one text. */
async function told({ events }: ReturnType<Kernel["run"]>): Promise<string> {
  let text = "";
  for await (const event of events) text += JSON.stringify(event);
  return text;
}

async function aKernel(language: Language) {
  const kernel = await startKernel(language, ".", {});
  onTestFinished(() => kernel.kill());
  const print = language === "python" ? "import os; print(f'<{os.getpid()}>')" : "console.log(`<${process.pid}>`)";
  const pid = Number(/<(\d+)>/.exec(await told(kernel.run(print)))?.[1]);
  return { kernel, pid };
}

test.for(
  [
    ["python", "import time; time.sleep(300)", "KeyboardInterrupt"],
    ["javascript", "while (true);", "Interrupted"],
  ] as const,
)("%s that has not been read yet is broken off, and the interpreter lives", async ([language, code, error]) => {
  const { kernel, pid } = await aKernel(language);
  // It reads nothing, and a signal that it ignores is gone.
  process.kill(pid, "SIGSTOP");
  const running = told(kernel.run(code));
  kernel.interrupt();
  process.kill(pid, "SIGCONT");
  expect(await running).toContain(error);
  expect(await told(kernel.run("6 * 7"))).toContain('"42"');
});

test("a call that blocks and has not noticed an interrupt is broken off", async () => {
  const { kernel } = await aKernel("python");
  // The other thread takes the signal: it is pending, as if it had come a moment before the call, which goes on.
  const running = kernel.run(`import signal, threading, time
threading.Thread(target=time.sleep, args=(300,), daemon=True).start()
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
print("blocks")
time.sleep(300)`);
  let text = "";
  for await (const event of running.events) {
    text += JSON.stringify(event);
    if (text.includes("blocks")) kernel.interrupt();
  }
  expect(text).toContain("KeyboardInterrupt");
});

test.for([
  "while (true);",
  "await 1; while (true);",
  "while (true) await 1;",
  "while (true) await new Promise((go) => setTimeout(go));",
  "while (true) console.log('text');",
  "await new Promise(() => {})",
  "1",
])("JavaScript ends whenever it is broken off: %s", async (code) => {
  const { kernel } = await aKernel("javascript");
  for (let round = 0; round < 30; round++) {
    const running = told(kernel.run(code));
    await delay(round % 6);
    kernel.interrupt();
    expect(await running).toMatch(/"name":"Interrupted"|"text\/plain":"1"/);
  }
  kernel.interrupt();
  expect(await told(kernel.run("6 * 7"))).toContain('"42"');
});

test("a value that cannot be shown is an error of the run that has it", async () => {
  const { kernel } = await aKernel("javascript");
  const code = '({ [Symbol.for("nodejs.util.inspect.custom")]() { throw new Error("not to be shown"); } })';
  expect(await told(kernel.run(code))).toContain("not to be shown");
  expect(await told(kernel.run("6 * 7"))).toContain('"42"');
});
