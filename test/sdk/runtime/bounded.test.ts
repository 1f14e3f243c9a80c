/** Answers without an end: this side reads so much of them, and says so; what a runtime may send is read whole. @module */
import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { RunCodeResponseSchema } from "../../../packages/runtime-api/gen/hookbox/runtime/v1/contexts_pb.ts";
import { createCode } from "../../../packages/sdk/code/code.ts";
import { createCommands } from "../../../packages/sdk/commands/commands.ts";
import { ConnectionError, SandboxError } from "../../../packages/sdk/errors.ts";
import { createFiles } from "../../../packages/sdk/files/files.ts";
import { listFolder } from "../../../packages/sdk/files/manage.ts";
import { createRuntimeClient } from "../../../packages/sdk/runtime/runtimeclient.ts";
import { localTransport, OBJECT } from "../localtransport.ts";

const MB = 1024 * 1024;

/** A sandbox that answers everything so. */
function sandbox(answer: (path: string) => Response) {
  const transport = { ...localTransport(0), fetch: (_: number, path: string) => Promise.resolve(answer(path)) };
  const runtimeClient = createRuntimeClient(transport, OBJECT, undefined);
  const { read, stat, watch, list } = createFiles(runtimeClient);
  const { runCode, listCodeContexts } = createCode(runtimeClient);
  return { runtimeClient, read, stat, watch, list, runCode, listCodeContexts, commands: createCommands(runtimeClient) };
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

type CodeEvent = NonNullable<MessageInitShape<typeof RunCodeResponseSchema>["event"]>;

/** A sandbox where this comes of code, and then its end. */
function sandboxThatShows(count: number, event: (index: number) => CodeEvent) {
  const events = (function* () {
    for (let index = 0; index < count; index++) yield event(index);
    yield { case: "ended" as const, value: {} };
  })();
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    pull: (controller) => {
      const { done, value } = events.next();
      const message = done ? new TextEncoder().encode("{}") : messageOf(value);
      controller.enqueue(framed(message.length, done ? 2 : 0));
      controller.enqueue(message);
      if (done) controller.close();
    },
  });
  return sandbox(() => new Response(body, { headers: { "Content-Type": "application/connect+proto" } }));
}

const messageOf = (event: CodeEvent) => toBinary(RunCodeResponseSchema, create(RunCodeResponseSchema, { event }));
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

test.for(["stdout", "stderr"] as const)(
  "of %s of code 16 Mi characters are kept; callbacks get all",
  async (stream) => {
    let told = 0;
    const count = (text: string) => (told += text.length);
    const { runCode } = sandboxThatShows(20, () => ({ case: stream, value: "a".repeat(MB) }));
    const { logs, truncated } = await runCode("1", { onStdout: count, onStderr: count });
    expect([logs[stream].join("").length, told, truncated]).toEqual([16 * MB, 20 * MB, true]);
  },
);

test("maxOutputLength says how much of code's output is kept", async () => {
  const show = (text: string) =>
    sandboxThatShows(1, () => ({ case: "stdout", value: text })).runCode("1", { maxOutputLength: 3 });
  expect(await show("abc")).not.toHaveProperty("truncated");
  expect(await show("abcd")).toMatchObject({ logs: { stdout: ["abc"] }, truncated: true });
});

test("output of code in tiny pieces is kept in few; nothing is kept of those without text", async () => {
  const { runCode } = sandboxThatShows(50_000, (index) => ({ case: "stdout", value: index % 2 ? `${index}` : "" }));
  const { logs, truncated } = await runCode("1");
  expect(logs.stdout.join("")).toBe(Array.from({ length: 25_000 }, (_, index) => 2 * index + 1).join(""));
  expect(logs.stdout.length).toBeLessThan(5000);
  expect(truncated).toBeUndefined();
});

test("results of code are kept until they are long together; callbacks get all", async () => {
  let told = 0;
  const onResult = () => told++;
  const value = { svg: "a".repeat(10 * MB), text: "t", isMainResult: true };
  const { results, truncated } = await sandboxThatShows(9, () => ({ case: "result", value }))
    .runCode("1", { onResult });
  expect([results.length, told, truncated]).toEqual([7, 9, true]);
  const none = await sandboxThatShows(1, () => ({ case: "result", value })).runCode("1", { maxResultsLength: 0 });
  expect(none).toEqual({ results: [], logs: { stdout: [], stderr: [] }, executionCount: 0, truncated: true });
});

test("no more than 10,000 results of code are kept, nor values without end", async () => {
  const { results, truncated } = await sandboxThatShows(10_100, () => ({ case: "result", value: { text: "t" } }))
    .runCode("1");
  expect([results.length, truncated]).toEqual([10_000, true]);
  const nothing = { kind: { case: "nullValue" as const, value: 0 } };
  const data = { kind: { case: "listValue" as const, value: { values: Array(1000).fill(nothing) } } };
  const values = await sandboxThatShows(9, () => ({ case: "result", value: { data } }))
    .runCode("1", { maxResultsLength: 100_000 });
  expect(values.results.length).toBeLessThan(6);
});

const listed = (names: Iterable<string>, type: string) => {
  const entry = { type, size: 1, modified_at: "2026-01-01T00:00:00.000Z", mode: "0755" };
  return Response.json({ entries: Array.from(names, (name) => ({ ...entry, name })) });
};

test("folders with many files are listed together", async () => {
  const files = Array.from({ length: 50_000 }, (_, index) => `${index}.txt`);
  const { list } = sandbox((path) =>
    /f[abc]\?/.test(path) ? listed(files, "file") : listed(["fa", "fb", "fc"], "directory")
  );
  const paths = (await list("", { depth: 2 })).map(({ path }) => path);
  expect(paths).toHaveLength(150_003);
  expect([paths[0], paths[50_001], paths[100_002], paths.at(-1)]).toEqual(["fa", "fb", "fc", "fc/9999.txt"]);
});

test.for<[string, string, (index: number) => string, number]>([
  ["folders", "100 folders", (index) => `${index}`, 1],
  ["entries", "1,000 entries", (index) => `${index}`, 100],
  ["names", "100,000 characters", (index) => `${index}`.padEnd(10_000, "-"), 1],
])("%s without end are an error that says so", async ([, most, nameAt, count]) => {
  let asked = 0;
  const { runtimeClient } = sandbox(() => {
    if (++asked > 1000) throw new Error("asked without end");
    return listed(Array.from({ length: count }, (_, index) => nameAt(index)), "directory");
  });
  const limits = { folders: 100, entries: 1000, characters: 100_000 };
  const error = await listFolder(runtimeClient, "a", { depth: Infinity }, limits).catch((error: Error) => error);
  expect(error).toMatchObject({ reason: "TOO_LONG", object: OBJECT, remedy: expect.stringMatching(/depth/) });
  expect((error as Error).message).toContain(`Cannot list "a": there are more than ${most}`);
  expect(asked).toBeLessThan(110);
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
  const { results } = await sandboxThatShows(1, () => ({ case: "result", value: { svg } })).runCode("1");
  expect(results[0]?.svg).toHaveLength(40 * MB);
});
