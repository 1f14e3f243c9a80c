/** Answers of many tiny values, or in many tiny chunks: decoded they take many times what they are long, so they are counted before. @module */
import { create, toBinary } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { expect, test } from "vitest";
import {
  ListContextsResponseSchema,
  RunCodeResponseSchema,
} from "../../../../packages/runtime-api/gen/hookbox/runtime/v1/contexts_pb.ts";
import { createCode } from "../../../../packages/sdk/code/code.ts";
import { createFiles } from "../../../../packages/sdk/files/files.ts";
import { fieldsUpTo } from "../../../../packages/sdk/runtime/bounded.ts";
import { createRuntimeClient } from "../../../../packages/sdk/runtime/runtimeclient.ts";
import { liveBytes } from "../../../heap.ts";
import { localTransport, OBJECT } from "../../localtransport.ts";
import { framed } from "../../../frames.ts";

/** A sandbox that answers everything so. */
function sandbox(body: BodyInit, type: string) {
  const answer = () => Promise.resolve(new Response(body, { headers: { "Content-Type": type } }));
  const runtimeClient = createRuntimeClient({ ...localTransport(0), fetch: answer }, OBJECT, undefined);
  return { ...createFiles(runtimeClient), ...createCode(runtimeClient) };
}

const STREAM = "application/connect+proto";
const UNARY = "application/proto";
const JSON_TYPE = "application/json";

/** Bytes of so many times the same. */
function many(count: number, ...unit: number[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(count * unit.length);
  unit.forEach((byte, at) => {
    for (let i = at; i < bytes.length; i += unit.length) bytes[i] = byte;
  });
  return bytes;
}

/** A message with one field, which are those bytes. */
function field(number: number, bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return new BinaryWriter().tag(number, WireType.LengthDelimited).bytes(bytes).finish();
}

const END = framed(new TextEncoder().encode("{}"), 2);
/** Numbers of fields: of RunCodeResponse, Result, Value. */
const [RESULT, DATA, LIST] = [3, 11, 6];

test("a list of millions of empty messages is an error that says how many there may be", async () => {
  const error = await sandbox(many(300_000, 0x0a, 0), UNARY).listCodeContexts().catch((error) => error);
  expect(error).toMatchObject({ reason: "TOO_LONG", object: OBJECT });
  expect(error.message).toContain("Cannot call the runtime: the answer has more than 250,000 fields");
});

test("fields that nobody knows count as well", async () => {
  const error = await sandbox(many(300_000, 0x78, 0), UNARY).listCodeContexts().catch((error) => error);
  expect(error.message).toContain("more than 250,000 fields");
});

test("a result that consists of millions of empty values is an error, one of many numbers is not", async () => {
  const shown = (values: Uint8Array) => {
    const event = field(RESULT, field(DATA, field(LIST, values)));
    return sandbox(new Blob([framed(event), framed(field(5, new Uint8Array())), END]), STREAM).runCode("1");
  };
  const error = await shown(many(2_100_000, 0x0a, 0)).catch((error) => error);
  expect(error).toMatchObject({ reason: "TOO_LONG" });
  expect(error.message).toContain("the answer has more than 2,000,000 fields");
  const { results } = await shown(many(500_000, 0x0a, 2, 8, 0));
  expect(results[0]?.data).toHaveLength(500_000);
});

test("JSON of millions of empty objects is an error; commas and brackets in texts do not count", async () => {
  const error = await sandbox(`[${"{},".repeat(1_600_000)}{}]`, JSON_TYPE).list("").catch((error) => error);
  expect(error).toMatchObject({ reason: "TOO_LONG" });
  expect(error.message).toContain('Cannot list "": the answer has more than 3,000,000 values');
  const name = "{,[".repeat(1_600_000) + '"\\';
  const entry = { type: "file", size: 1, modified_at: "2026-01-01T00:00:00.000Z", mode: "0755", name };
  expect(await sandbox(JSON.stringify({ entries: [entry] }), JSON_TYPE).list("")).toMatchObject([{ name }]);
});

test("the end of a stream has few values", async () => {
  const end = new TextEncoder().encode(`{"error":{"code":"internal","details":[${"{},".repeat(20_000)}{}]}}`);
  const error = await sandbox(framed(end, 2), STREAM).runCode("1").catch((error) => error);
  expect(error).toMatchObject({ reason: "TOO_LONG" });
  expect(error.message).toContain("the answer has more than 10,000 values at its end");
});

test.for(
  [
    ["a message", STREAM, framed(many(100_000, 97)), (box: ReturnType<typeof sandbox>) => box.runCode("1")],
    ["JSON", JSON_TYPE, many(100_000, 32), (box: ReturnType<typeof sandbox>) => box.list("")],
    [
      "a file",
      "application/octet-stream",
      many(100_000, 97),
      (box: ReturnType<typeof sandbox>) => box.read("a", { format: "bytes" }),
    ],
  ] as const,
)("%s in chunks of one byte takes little memory while it waits for its last", async ([, type, bytes, call]) => {
  let at = 0;
  const arrived = Promise.withResolvers<void>();
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    pull(controller) {
      // A buffer of its own for each, as they come from a socket.
      if (at < bytes.length - 1) controller.enqueue(new Uint8Array([bytes[at++] ?? 0]));
      else arrived.resolve();
    },
  }, { highWaterMark: 0 });
  const before = liveBytes();
  const calling = call(sandbox(body, type)).catch((error) => error);
  await arrived.promise;
  expect(liveBytes() - before).toBeLessThan(2_000_000);
  expect(await Promise.race([calling, Promise.resolve("waits")])).toBe("waits");
});

test("fieldsUpTo() counts the fields of messages within, and those of maps, and leaves what is broken to the decoder", () => {
  const data = {
    kind: { case: "structValue" as const, value: { fields: { a: { kind: nothing }, b: { kind: nothing } } } },
  };
  const event = { case: "result" as const, value: { text: "three", data, extra: { c: "d" } } };
  const bytes = toBinary(RunCodeResponseSchema, create(RunCodeResponseSchema, { event }));
  // result, text, data, structValue, two entries of three with a value of one, extra of three.
  const count = 1 + 1 + 1 + 1 + 2 * 4 + 3;
  expect([count, count - 1].map((most) => fieldsUpTo(RunCodeResponseSchema, bytes, most))).toEqual([true, false]);
  const broken = new Uint8Array([0x0a, 0x7f, 0x0a]);
  expect(fieldsUpTo(ListContextsResponseSchema, broken, 10)).toBe(true);
});

const nothing = { case: "nullValue" as const, value: 0 };
