/** An interrupt that comes before the interpreter has begun with the code is not lost. @module */
import process from "node:process";
import { expect, onTestFinished, test } from "vitest";
import { type Kernel, startKernel } from "../../../packages/runtime/contexts/kernel.ts";

/** Returns what a run yields, as one text. */
async function told({ events }: ReturnType<Kernel["run"]>): Promise<string> {
  let text = "";
  for await (const event of events) text += JSON.stringify(event);
  return text;
}

test("code that an interpreter has not read yet is broken off, and the interpreter lives", async () => {
  const kernel = await startKernel("python", ".", {});
  onTestFinished(kernel.kill);
  const pid = Number(/<(\d+)>/.exec(await told(kernel.run("import os; print(f'<{os.getpid()}>')")))?.[1]);
  // It reads nothing, and a signal that it ignores is gone.
  process.kill(pid, "SIGSTOP");
  const running = told(kernel.run("import time; time.sleep(300)"));
  kernel.interrupt();
  process.kill(pid, "SIGCONT");
  expect(await running).toContain("KeyboardInterrupt");
  expect(kernel.alive()).toBe(true);
});
