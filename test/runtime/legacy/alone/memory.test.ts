/** What a large command of `POST /execute` needs in memory: while it is split, and while it runs. @module */
import { once } from "node:events";
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { Worker } from "node:worker_threads";
import { expect, onTestFinished, test } from "vitest";
import { until } from "../../../eventually.ts";
import { collectGarbage, liveBytes } from "../../../heap.ts";
import { hurry } from "../../../hurry.ts";
import { makeRoot } from "../../folders.ts";
import { startTestRuntime } from "../../servers.ts";

const MIB = 2 ** 20;

/** Splits a line of 8 MiB in a heap of 64 MiB. Returns the number of words, and the length of the last. */
async function splitIn64MiB(part: string): Promise<[number, number]> {
  const module = new URL("../../../../packages/runtime/legacy/execute.ts", import.meta.url).href;
  const worker = new Worker(
    `const { parentPort, workerData } = require("node:worker_threads");
    import(workerData.module).then(({ splitCommand }) => {
      const words = splitCommand(workerData.part.repeat(workerData.count));
      parentPort.postMessage([words.length, words.at(-1).length]);
    });`,
    {
      eval: true,
      execArgv: [],
      workerData: { module, part, count: 8 * MIB / part.length },
      resourceLimits: { maxOldGenerationSizeMb: 64 },
    },
  );
  onTestFinished(() => void worker.terminate());
  return await new Promise((resolve, reject) => worker.once("message", resolve).once("error", reject));
}

test.for<[string, string, [number, number]]>([
  ["one word", "abcdefgh", [1, 8 * MIB]],
  ["one word of escapes", "\\a", [1, 4 * MIB]],
  ["one word of quotes", `'a'"b"`, [1, 8 * MIB / 3]],
  ["words", "abcdefghijklmno ", [MIB / 2, 15]],
])("a line of 8 MiB that is %s is split in a heap of 64 MiB", async ([, part, want]) => {
  expect(await splitIn64MiB(part)).toEqual(want.map(Math.floor));
});

test("a line has only as many words as the system can pass", async () => {
  await expect(splitIn64MiB("a ")).rejects.toThrow("More words than the system can pass");
});

test("a large command that runs needs no memory for its text", async () => {
  hurry(100);
  const { root, at } = await makeRoot();
  const runtime = await startTestRuntime(root.path);
  onTestFinished(() => runtime.stop());
  const statuses: Promise<string>[] = [];
  // Keeps nothing of what it sends.
  const begin = async (name: string, bytes: number) => {
    const socket = connect(runtime.port, "127.0.0.1");
    onTestFinished(() => void socket.destroy());
    sendTo(socket, name, bytes);
    statuses.push(once(socket, "data").then(([answer]) => String(answer).slice(9, 12)));
    await until(() => existsSync(at(name)));
    await collectGarbage();
  };
  await begin("first", 2 * MIB);
  const before = liveBytes();
  for (const name of ["a", "b", "c", "d"]) await begin(name, 8 * MIB);
  expect(liveBytes() - before).toBeLessThan(4 * MIB);
  await writeFile(at("go"), "");
  expect(await Promise.all(statuses)).toEqual(["200", "200", "200", "200", "200"]);
});

function sendTo(socket: Socket, name: string, bytes: number): void {
  const script = `touch ${name}; until [ -e go ]; do sleep 0.1; done\n#${"x".repeat(bytes)}`;
  const body = JSON.stringify({ command: `/bin/sh -c '${script}' name-of-the-script` });
  socket.write(`POST /execute HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
}
