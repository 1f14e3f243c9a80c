/** `POST /execute` with commands of many megabytes: how large they may be, and how many are in memory. @module */
import { Buffer } from "node:buffer";
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { largestBody } from "../../../packages/runtime/legacy/largecommands.ts";
import type { Runtime } from "../../../packages/runtime/start.ts";
import { eventually, until } from "../../eventually.ts";
import { hurry } from "../../hurry.ts";
import { makeRoot, type TestRoot } from "../folders.ts";
import { send, startTestRuntime } from "../servers.ts";

const MIB = 2 ** 20;
let made: TestRoot;
let runtime: Runtime;

beforeEach(async () => {
  made = await makeRoot();
  runtime = await startTestRuntime(made.root.path);
  return () => runtime.stop();
});

const execute = async (command: string) =>
  JSON.parse((await send(runtime.port, "POST", "/execute", { body: JSON.stringify({ command }) })).text);

/** A script that comes with 2 MiB of comment. */
const large = (script: string) => `sh -c '${script}\n#${"x".repeat(2 * MIB)}'`;

test.for<[heap: number, container: number, want: number]>([
  [4096, 0, 32],
  [256, 0, 32],
  [256, 512, 24],
  [256, 256, 8],
  [256, 128, 4],
  [64, 4096, 8],
])("with a heap of %d MiB in a container of %d MiB, the largest body has %d MiB", ([heap, container, want]) => {
  expect(largestBody(heap * MIB, container * MIB)).toBe(want * MIB);
});

test("a file of 10 MiB arrives as a command, in the way of deepagents", async () => {
  const file = Buffer.alloc(10 * MIB, "0123456789abcdef").toString("base64");
  const command = `sh -c 'printf %s '"'"'${file}'"'"' | base64 -d > file && wc -c < file'`;
  expect(await execute(command)).toEqual({ stdout: `${10 * MIB}\n`, stderr: "", exit_code: 0 });
});

test("execute refuses 40 MiB, and answers the next request of the connection", async () => {
  const socket = connect(runtime.port, "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  let answers = "";
  socket.setEncoding("utf8").on("data", (text) => answers += text);
  for (const bytes of [3 * MIB, 40 * MIB, 1]) {
    const body = JSON.stringify({ command: `sh -c 'echo ${"x".repeat(bytes)} | wc -c'` });
    socket.write(`POST /execute HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
  }
  await eventually(() => answers.match(/(?<=HTTP\/1.1 )\d+|(?<="stdout":")\d+/gm)).toEqual(
    ["200", "3145729", "413", "200", "2"],
  );
});

test("execute refuses a body with very many values", async () => {
  const body = `{"command":"pwd","more":[${"[],".repeat(20_000)}1]}`;
  expect(await send(runtime.port, "POST", "/execute", { body })).toMatchObject({
    status: 413,
    text: expect.stringContaining("40003 values"),
  });
});

test("large commands run one at a time, and small ones at any time", async () => {
  const first = execute(large("touch begun; until [ -e go ]; do sleep 0.02; done; ls"));
  await until(() => existsSync(made.at("begun")));
  const second = execute(large("touch second"));
  expect(await execute("ls")).toMatchObject({ stdout: "begun\n" });
  await writeFile(made.at("go"), "");
  expect(await first).toMatchObject({ stdout: "begun\ngo\n" });
  expect(await second).toMatchObject({ exit_code: 0 });
});

test("a large command that runs long delays no other", async () => {
  hurry(100);
  const first = execute(large("touch begun; until [ -e go ]; do sleep 0.02; done"));
  await until(() => existsSync(made.at("begun")));
  expect(await execute(large("touch go"))).toMatchObject({ exit_code: 0 });
  expect(await first).toMatchObject({ exit_code: 0 });
});

test("a client that stops in the middle of a large body delays others for two minutes at most", async () => {
  const socket = connect(runtime.port, "127.0.0.1");
  socket.on("error", () => {});
  socket.write(`POST /execute HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${3 * MIB}\r\n\r\n${"x".repeat(2 * MIB)}`);
  hurry(1000);
  expect(await execute(large("echo served"))).toMatchObject({ stdout: "served\n" });
});

test("a client that leaves in the middle of a large body delays nobody", async () => {
  const socket = connect(runtime.port, "127.0.0.1");
  socket.on("error", () => {});
  const head = `POST /execute HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${3 * MIB}\r\n\r\n`;
  await new Promise((resolve) => socket.write(`${head}${"x".repeat(2 * MIB)}`, resolve));
  socket.destroy();
  expect(await execute(large("echo served"))).toMatchObject({ stdout: "served\n" });
});
