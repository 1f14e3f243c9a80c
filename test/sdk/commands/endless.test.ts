/** Sandboxes that never come to an end: this side ends commands and code, and asks at a pace. @module */
import { create, type DescMessage, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { expect, test, vi } from "vitest";
import { RunCodeResponseSchema } from "../../../packages/runtime-api/gen/hookbox/runtime/v1/contexts_pb.ts";
import { AttachResponseSchema } from "../../../packages/runtime-api/gen/hookbox/runtime/v1/processes_pb.ts";
import { createCode } from "../../../packages/sdk/code/code.ts";
import { createCommands } from "../../../packages/sdk/commands/commands.ts";
import { ConnectionError, TimeoutError } from "../../../packages/sdk/errors.ts";
import { createPTY } from "../../../packages/sdk/pty.ts";
import { createRuntimeClient } from "../../../packages/sdk/runtime/runtimeclient.ts";
import type { SandboxTransport } from "../../../packages/sdk/transport/transport.ts";
import { until, untilThere } from "../../eventually.ts";
import { hurry } from "../../hurry.ts";
import { localTransport, OBJECT } from "../localtransport.ts";

/** One message of a stream of Connect. */
function framed<T extends DescMessage>(schema: T, message: MessageInitShape<T>): Uint8Array<ArrayBuffer> {
  const bytes = toBinary(schema, create(schema, message));
  const frame = new Uint8Array(5 + bytes.length);
  new DataView(frame.buffer).setUint32(1, bytes.length);
  frame.set(bytes, 5);
  return frame;
}

const STARTED = framed(AttachResponseSchema, { event: { case: "started", value: { processId: 7 } } });
const PRINTED = framed(RunCodeResponseSchema, { event: { case: "stdout", value: "so far" } });

/** A sandbox that answers with this and breaks off, or never ends; what else it is asked for it does not answer. */
function sandbox(
  frame: Uint8Array<ArrayBuffer>,
  end: "breaks off" | "goes on",
  begins: Promise<void> = Promise.resolve(),
) {
  const asked: string[] = [];
  const fetch: SandboxTransport["fetch"] = async (_port, path, { signal } = {}) => {
    asked.push(path.split("/").at(-1) ?? "");
    const { promise: aborted, reject } = Promise.withResolvers<never>();
    signal?.addEventListener("abort", () => reject(signal.reason));
    aborted.catch(() => {});
    if (!/Run|Attach|RunCode/.test(path)) return await aborted;
    const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
      start: (controller) => void begins.then(() => controller.enqueue(frame)),
      pull: (controller) => end === "goes on" ? aborted : begins.then(() => controller.close()),
    });
    return new Response(body, { headers: { "Content-Type": "application/connect+proto" } });
  };
  const runtimeClient = createRuntimeClient({ ...localTransport(0), fetch }, OBJECT, undefined);
  return {
    asked,
    commands: createCommands(runtimeClient),
    code: createCode(runtimeClient),
    pty: createPTY(runtimeClient),
  };
}

test("a command that the sandbox does not end in time is over some seconds later", async () => {
  hurry(20);
  const { commands, asked } = sandbox(STARTED, "goes on");
  const late = await commands.run("true", { timeoutMs: 500 }).catch((error) => error);
  expect(late).toBeInstanceOf(TimeoutError);
  expect(late.message).toBe('Cannot run "true": the sandbox has not ended it after 500 ms. It may still run.');
  expect(asked).toEqual(["Run", "Kill"]);
});

test("so is code, whose TimeoutError has what came until then, and what runs on a terminal", async () => {
  hurry(20);
  const late = await sandbox(PRINTED, "goes on").code.runCode("1", { timeoutMs: 500 }).catch((error) => error);
  expect(late).toBeInstanceOf(TimeoutError);
  expect(late.cause).toMatchObject({ logs: { stdout: ["so far"] } });
  const terminal = await sandbox(STARTED, "goes on").pty.create({ cols: 80, rows: 24, timeoutMs: 500 });
  await expect(terminal.wait()).rejects.toThrow(TimeoutError);
});

test("a sandbox that begins anew and breaks off, again and again, is given up after some ten seconds", async () => {
  hurry(20);
  const { commands, asked } = sandbox(STARTED, "breaks off");
  await expect(commands.run("true")).rejects.toThrow(ConnectionError);
  expect(asked.filter((path) => path !== "Kill")).toEqual(["Run", ...Array.from({ length: 6 }, () => "Attach")]);
});

test("a silent command outlives connections that stood for a while, however many", async () => {
  hurry(20);
  let now = 0;
  const clock = vi.spyOn(performance, "now").mockImplementation(() => now += 10_001);
  const { commands, asked } = sandbox(STARTED, "breaks off");
  const leaving = new AbortController();
  const run = commands.run("true", { signal: leaving.signal });
  await until(() => asked.length > 20);
  clock.mockRestore();
  leaving.abort(new Error("enough"));
  await expect(run).rejects.toThrow("enough");
});

test("a reader that takes its time does not have the command ended", async () => {
  hurry(20);
  const { code } = sandbox(PRINTED, "breaks off");
  const onStdout = () => new Promise((resolve) => setTimeout(resolve, 20_000));
  await expect(code.runCode("1", { timeoutMs: 500, onStdout })).rejects.toThrow(/the connection broke|breaks off/);
});

test("a command whose caller gives up before it is said to have started is killed as well", async () => {
  hurry(20);
  const begins = Promise.withResolvers<void>();
  const { commands, pty, asked } = sandbox(STARTED, "goes on", begins.promise);
  const leaving = new AbortController();
  const run = commands.run("true", { signal: leaving.signal });
  const terminal = pty.create({ cols: 80, rows: 24, signal: leaving.signal });
  run.catch(() => {});
  terminal.catch(() => {});
  await until(() => asked.length >= 2);
  leaving.abort(new Error("enough"));
  begins.resolve();
  await expect(run).rejects.toThrow("enough");
  await untilThere(2, () => asked.filter((path) => path === "Kill"));
});

test("a caller that gives up waits no longer than the grace for a command that never starts", async () => {
  hurry(20);
  const { commands, asked } = sandbox(STARTED, "goes on", new Promise(() => {}));
  const leaving = new AbortController();
  const run = commands.run("true", { signal: leaving.signal });
  run.catch(() => {});
  await until(() => asked.length >= 1);
  leaving.abort(new Error("enough"));
  await expect(run).rejects.toThrow("enough");
  expect(asked).toEqual(["Run"]);
});
