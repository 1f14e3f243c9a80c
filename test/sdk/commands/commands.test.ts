/** sandbox.commands, against a real runtime. @module */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createCommands } from "../../../packages/sdk/commands/commands.ts";
import { CommandExitError } from "../../../packages/sdk/commands/output.ts";
import { createCode } from "../../../packages/sdk/code/code.ts";
import { createPTY } from "../../../packages/sdk/pty.ts";
import {
  InvalidArgumentError,
  NotFoundError,
  SandboxNotFoundError,
  TimeoutError,
} from "../../../packages/sdk/errors.ts";
import { createRuntimeClient } from "../../../packages/sdk/runtime/runtimeclient.ts";
import type { SandboxTransport } from "../../../packages/sdk/transport/transport.ts";
import { eventually, until } from "../../eventually.ts";
import { holdTimers } from "../../hurry.ts";
import { breakingProxy } from "../breakingproxy.ts";
import { aSandbox, localTransport, OBJECT } from "../localtransport.ts";

async function commandsOf(files: Record<string, string> = {}) {
  const sandbox = await aSandbox(files);
  return { ...sandbox, commands: createCommands(sandbox.runtimeClient) };
}

test("run() returns output and exit code, whatever the code is", async () => {
  const { commands } = await commandsOf();
  expect(await commands.run("echo out; echo err >&2; exit 3")).toEqual({
    exitCode: 3,
    signal: undefined,
    stdout: "out\n",
    stderr: "err\n",
    truncated: false,
  });
  expect(await commands.run(["printf", "%s|", "a b", "$HOME"])).toMatchObject({ stdout: "a b|$HOME|" });
  expect(await commands.run("kill -9 $$")).toMatchObject({ exitCode: -1, signal: "SIGKILL" });
});

test("run() names the variable that it cannot set, not the command", async () => {
  const { commands } = await commandsOf();
  await expect(commands.run("env", { env: { "A=B": "x" } })).rejects.toThrow(
    'Cannot run "env": variable "A=B" has no name, or "=" in it, or a NUL byte',
  );
});

test("run() takes folder, environment and input", async () => {
  const { commands } = await commandsOf({ "sub/file": "x" });
  const result = await commands.run("ls; echo $COLOUR; cat", { cwd: "sub", env: { COLOUR: "grün" }, stdin: "héllo" });
  expect(result.stdout).toBe("file\ngrün\nhéllo");
  const stream = new Blob(["a".repeat(700_000)]).stream();
  expect(await commands.run("wc -c", { stdin: stream })).toMatchObject({ stdout: "700000\n" });
  expect(await commands.run("cat"), "without input it is empty").toMatchObject({ stdout: "", exitCode: 0 });
});

test("run() tells bytes as they are, of each stream", async () => {
  const { commands } = await commandsOf();
  const told = { stdout: [] as number[], stderr: [] as number[] };
  await commands.run("printf '\\377\\000\\303'; printf '\\200' >&2", {
    onData: (bytes, stream) => void told[stream].push(...bytes),
  });
  expect(told).toEqual({ stdout: [255, 0, 195], stderr: [128] });
});

test("run() with check throws an error that is the result", async () => {
  const { commands } = await commandsOf();
  const error = await commands.run("echo out; echo why >&2; exit 7", { check: true }).catch((error) => error);
  expect(error).toBeInstanceOf(CommandExitError);
  expect(error).toMatchObject({ code: "COMMAND_FAILED", exitCode: 7, stdout: "out\n", stderr: "why\n" });
  expect(error.message).toMatch(/exit code 7: why$/);
});

test("run() passes output on as it comes, characters whole, and holds the command up until it is read", async () => {
  const { commands, at } = await commandsOf();
  const told: string[] = [];
  const script = String.raw`printf 'a\303'; until [ -e go ]; do sleep .02; done; printf '\244b'; echo e >&2`;
  const onStdout = (text: string) => {
    told.push(text);
    writeFileSync(at("go"), "");
  };
  await commands.run(script, { onStdout, onStderr: (text) => void told.push(`!${text}`) });
  expect(told.join("")).toBe("aäb!e\n");
  expect(told[0]).toBe("a");
});

test("run() refuses what makes no sense, and says what is missing", async () => {
  const { commands } = await commandsOf();
  await expect(commands.run([])).rejects.toBeInstanceOf(InvalidArgumentError);
  await expect(commands.run("true", { timeoutMs: -1 })).rejects.toBeInstanceOf(InvalidArgumentError);
  await expect(commands.run(["no-such-program"])).rejects.toThrow(NotFoundError);
  await expect(commands.run(["no-such-program"])).rejects.toThrow(/no-such-program.*not found/);
  await expect(commands.run("true", { cwd: "no/folder" })).rejects.toThrow(
    'Cannot run "true": there is not a folder "no/folder"',
  );
});

test("timeoutMs kills the command with all it has started", async () => {
  const { commands, root } = await commandsOf();
  const pass = holdTimers();
  const late = commands.run("sleep 600.5 & touch begun; sleep 600.5", { timeoutMs: 60_000 });
  await until(() => existsSync(join(root.path, "begun")));
  pass(60_000);
  await expect(late).rejects.toBeInstanceOf(TimeoutError);
  await eventually(async () => (await commands.run("pgrep -f '^sleep 600.5'")).exitCode).toBe(1);
});

test("who gives up kills the command, and gets the signal's reason", async () => {
  const { commands } = await commandsOf();
  const stop = new AbortController();
  const onStdout = () => stop.abort(new Error("enough"));
  await expect(commands.run("echo; sleep 600", { signal: stop.signal, onStdout })).rejects.toThrow("enough");
  await eventually(async () => (await commands.list()).filter((one) => one.exitCode === undefined)).toEqual([]);
});

test("a handler that throws ends the command", async () => {
  const { commands } = await commandsOf();
  const onStdout = () => {
    throw new Error("mine");
  };
  await expect(commands.run("echo; sleep 600", { onStdout })).rejects.toThrow("mine");
  await eventually(async () => (await commands.list()).filter((one) => one.exitCode === undefined)).toEqual([]);
});

test("a result holds so much; callbacks get all", async () => {
  const { commands } = await commandsOf();
  let length = 0;
  const onStdout = (text: string) => void (length += text.length);
  const result = await commands.run("head -c 9000000 /dev/zero | tr '\\0' x", { onStdout, maxOutputLength: 1000 });
  expect([result.stdout.length, result.truncated, length]).toEqual([1000, true, 9_000_000]);
});

test("a background command: output by iteration, streams and wait, input, kill", async () => {
  const { commands } = await commandsOf();
  const handle = await commands.run("echo ready; read line; echo got $line >&2; exec sleep 600", {
    background: true,
    stdin: true,
  });
  const seen: string[] = [];
  for await (const { stream, text } of handle) {
    seen.push(`${stream}:${text}`);
    if (text.includes("ready")) await handle.write("it\n");
    if (stream === "stderr") break;
  }
  expect(seen).toEqual(["stdout:ready\n", "stderr:got it\n"]);
  const reader = handle.stdout.getReader();
  expect(await reader.read()).toEqual({ done: false, value: "ready\n" });
  await reader.cancel();
  const again = await commands.connect(handle.processId);
  expect(await again.kill("SIGTERM")).toBe(true);
  expect(await handle.wait()).toMatchObject({ exitCode: -1, signal: "SIGTERM", stdout: "ready\n", stderr: "got it\n" });
  expect(await again.kill()).toBe(false);
  await expect(commands.connect(999_999)).rejects.toBeInstanceOf(NotFoundError);
});

test("who leaves a stream of a silent command ends its connection; the command goes on", async () => {
  const { runtimeClient } = await commandsOf();
  const signals: (AbortSignal | undefined)[] = [];
  const transport: SandboxTransport = {
    ...runtimeClient.transport,
    fetch: (port, path, request) => {
      signals.push(request?.signal);
      return runtimeClient.transport.fetch(port, path, request);
    },
  };
  const commands = createCommands(createRuntimeClient(transport, OBJECT, undefined));
  const handle = await commands.run("echo ready; sleep 600", { background: true });
  const reader = handle.stdout.getReader();
  expect(await reader.read()).toEqual({ done: false, value: "ready\n" });
  const rest = reader.read();
  await reader.cancel();
  expect(await rest).toEqual({ done: true, value: undefined });
  expect(signals.at(-1)?.aborted).toBe(true);
  expect(await handle.kill()).toBe(true);
});

test("a command runs once and loses nothing, though every connection breaks", async () => {
  const { root, port } = await commandsOf();
  const proxy = await breakingProxy(port);
  proxy.cutAfter(150_000);
  const commands = createCommands(createRuntimeClient(localTransport(proxy.port), OBJECT, undefined));
  writeFileSync(
    join(root.path, "lines.sh"),
    "echo run >> runs; i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done",
  );
  const { stdout, exitCode, truncated } = await commands.run(["sh", "lines.sh"]);
  const lines = Array.from({ length: 20_000 }, (_, index) => `line ${index}\n`).join("");
  expect([exitCode, truncated, stdout === lines]).toEqual([0, false, true]);
  expect(proxy.count()).toBeGreaterThan(1);
  expect(readFileSync(join(root.path, "runs"), "utf8")).toBe("run\n");
});

test("a sandbox that is deleted while its command runs is reported as such", async () => {
  const { runtimeClient } = await commandsOf();
  let asked = 0;
  const transport: SandboxTransport = {
    ...runtimeClient.transport,
    kind: "router",
    async fetch(port, path, request) {
      if (asked++ > 0) return new Response("{}", { status: 404, headers: { "X-Sandbox-Reason": "SandboxNotFound" } });
      const answer = await runtimeClient.transport.fetch(port, path, request);
      const breaking = new TransformStream<Uint8Array, Uint8Array>({
        transform(chunk, controller) {
          controller.enqueue(chunk);
          controller.error(new TypeError("terminated"));
        },
      });
      return new Response(answer.body?.pipeThrough(breaking) ?? null, answer);
    },
  };
  const commands = createCommands(createRuntimeClient(transport, OBJECT, undefined));
  await expect(commands.run("sleep 600")).rejects.toBeInstanceOf(SandboxNotFoundError);
  expect(asked).toBeGreaterThan(1);
});

test("a start whose answer is lost starts nothing twice", async () => {
  const { root, port } = await commandsOf();
  const proxy = await breakingProxy(port);
  proxy.cutAfter(0);
  const commands = createCommands(createRuntimeClient(localTransport(proxy.port), OBJECT, undefined));
  const handle = commands.run("echo run >> runs", { background: true });
  await eventually(() => proxy.count()).toBeGreaterThan(1);
  // The first request came through: its answer alone was cut.
  await eventually(() => existsSync(join(root.path, "runs"))).toBe(true);
  proxy.cutAfter(undefined);
  expect(await (await handle).wait()).toMatchObject({ exitCode: 0 });
  expect(readFileSync(join(root.path, "runs"), "utf8")).toBe("run\n");
});

test("the end of a command in the background is there when it is asked for, however many others ran in between", async () => {
  const { commands, at } = await commandsOf();
  const running = await commands.run("until [ -e go ]; do sleep .05; done; echo built; exit 4", { background: true });
  const ended = await commands.run("echo early; exit 5", { background: true });
  await eventually(async () => (await commands.list()).find((one) => one.processId === ended.processId)?.exitCode)
    .toBe(5);
  for (let n = 0; n < 70; n++) await commands.run("true");
  writeFileSync(at("go"), "");
  expect(await running.wait()).toMatchObject({ stdout: "built\n", exitCode: 4 });
  expect(await ended.wait()).toMatchObject({ stdout: "early\n", exitCode: 5 });
  expect(await (await commands.connect(running.processId)).wait()).toMatchObject({ exitCode: 4 });
});

test.for([Infinity, Number.MAX_VALUE, 2 ** 40])("timeoutMs %d is no limit that anything meets", async (timeoutMs) => {
  const { commands, runtimeClient } = await commandsOf();
  expect(await commands.run("echo on", { timeoutMs })).toMatchObject({ stdout: "on\n" });
  expect(await (await commands.run("echo on", { timeoutMs, background: true })).wait()).toMatchObject({ exitCode: 0 });
  expect(await createCode(runtimeClient).runCode("1 + 1", { timeoutMs })).toMatchObject({ text: "2" });
  const terminal = await createPTY(runtimeClient).create({ cols: 80, rows: 24, command: "exit 3", timeoutMs });
  expect(await terminal.wait()).toEqual({ exitCode: 3 });
});
