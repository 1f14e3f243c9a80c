/** Answers without an end: this side reads so much of them, and says so; what a runtime may send is read whole. @module */
import { create, toBinary } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { RunCodeResponseSchema } from "../../../packages/runtime-api/gen/hookbox/runtime/v1/contexts_pb.ts";
import { createCode } from "../../../packages/sdk/code/code.ts";
import { createCommands } from "../../../packages/sdk/commands/commands.ts";
import { ConnectionError, SandboxError } from "../../../packages/sdk/errors.ts";
import { createFiles } from "../../../packages/sdk/files/files.ts";
import { createRuntimeClient } from "../../../packages/sdk/runtime/runtimeclient.ts";
import { localTransport, OBJECT } from "../localtransport.ts";

const MB = 1024 * 1024;

/** A sandbox that answers everything so. */
function sandbox(answer: () => Response) {
  const transport = { ...localTransport(0), fetch: () => Promise.resolve(answer()) };
  const runtimeClient = createRuntimeClient(transport, OBJECT, undefined);
  const { read, stat, watch, list } = createFiles(runtimeClient);
  const { runCode, listCodeContexts } = createCode(runtimeClient);
  return { read, stat, watch, list, runCode, listCodeContexts, commands: createCommands(runtimeClient) };
}

/** A sandbox whose answers have no end; `sent` tells how many bytes anybody has taken. */
function endless(type: string, status = 200, first = new Uint8Array()) {
  const chunk = new Uint8Array(64 * 1024).fill(97);
  let bytes = 0;
  const body = () =>
    new ReadableStream<Uint8Array<ArrayBuffer>>({
      start: (controller) => first.length > 0 && controller.enqueue(first),
      pull: (controller) => {
        bytes += chunk.length;
        if (bytes > 100 * MB) controller.close();
        else controller.enqueue(chunk);
      },
    });
  const answer = () => new Response(body(), { status, headers: { "Content-Type": type } });
  return { ...sandbox(answer), sent: () => bytes };
}

const framed = (length: number, flags = 0) => Uint8Array.of(flags, length >>> 24, length >>> 16, length >>> 8, length);

test("the words of an error are cut", async () => {
  const { stat, listCodeContexts, sent } = endless("application/json", 500);
  await expect(stat("x")).rejects.toThrow(SandboxError);
  await expect(listCodeContexts()).rejects.toThrow(SandboxError);
  expect(sent()).toBeLessThan(MB);
  const error = `{"code": "unknown", "message": "${"a".repeat(MB)}"}`;
  const end = new Blob([framed(error.length + 10, 2), `{"error":${error}}`]);
  const told = await sandbox(() => new Response(end, { headers: { "Content-Type": "application/connect+proto" } }))
    .runCode("1").catch((error: Error) => error) as Error;
  expect(told).toBeInstanceOf(SandboxError);
  expect(told.message).toHaveLength("Cannot run code: ".length + 64 * 1024);
});

test.for<[string, string, Uint8Array<ArrayBuffer> | undefined, (one: ReturnType<typeof endless>) => Promise<unknown>]>([
  ["JSON", "application/json", undefined, ({ stat }) => stat("x")],
  ["a message", "application/proto", undefined, ({ listCodeContexts }) => listCodeContexts()],
  ["a message of a stream", "application/connect+proto", framed(0xffffffff), ({ runCode }) => runCode("1")],
  ["the start of a command", "application/connect+proto", framed(0xffffffff), ({ commands }) => commands.run("true")],
])("%s without an end is an error that says so", async ([, type, first, ask]) => {
  const one = endless(type, 200, first);
  const error = await ask(one).catch((error: Error) => error) as Error;
  expect(error).toMatchObject({ reason: "TOO_LONG", object: OBJECT });
  expect(error.message).toMatch(/^Cannot .*: the answer is longer than (32|64) MiB$/);
  expect(one.sent()).toBeLessThan(66 * MB);
});

test("a watch ends where a line does not", async () => {
  const { watch, sent } = endless("application/x-ndjson");
  await expect(watch("x").next()).rejects.toThrow(ConnectionError);
  expect(sent()).toBeLessThan(2 * MB);
});

test("read() gives no more than was asked for, whatever is sent", async () => {
  const { read, sent } = endless("application/octet-stream", 206);
  expect(await read("x", { length: 10 })).toBe("a".repeat(10));
  expect(await read("x", { format: "bytes", offset: 5, length: 100_000 })).toHaveLength(100_000);
  expect(await new Response(await read("x", { format: "stream", length: 7 })).text()).toBe("a".repeat(7));
  expect(sent()).toBeLessThan(MB);
});

test("what is long and has an end is read: a folder of 100,000 files, a result of 40 MB", async () => {
  const entry = { type: "file", size: 1, modified_at: "2026-01-01T00:00:00.000Z", mode: "0644" };
  const entries = Array.from(
    { length: 100_000 },
    (_, index) => ({ ...entry, name: `a-rather-long-name-${index}.txt` }),
  );
  const listing = JSON.stringify({ entries });
  expect(await sandbox(() => new Response(listing)).list("")).toHaveLength(entries.length);
  const svg = "a".repeat(40 * MB);
  const result = toBinary(
    RunCodeResponseSchema,
    create(RunCodeResponseSchema, { event: { case: "result", value: { svg } } }),
  );
  const ended = toBinary(RunCodeResponseSchema, create(RunCodeResponseSchema, { event: { case: "ended", value: {} } }));
  const body = new Blob([framed(result.length), result, framed(ended.length), ended, framed(2, 2), "{}"]);
  const headers = { "Content-Type": "application/connect+proto" };
  const { results } = await sandbox(() => new Response(body, { headers })).runCode("1");
  expect(results[0]?.svg).toHaveLength(40 * MB);
});
