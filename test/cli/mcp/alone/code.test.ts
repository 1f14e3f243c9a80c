/** run_code against a sandbox that shows without end: the server, which many share, holds little more than it returns. @module */
import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { expect, test } from "vitest";
import { RunCodeResponseSchema } from "../../../../packages/runtime-api/gen/hookbox/runtime/v1/contexts_pb.ts";
import type { Session } from "../../../../packages/cli/mcp/session.ts";
import { callTool } from "../../../../packages/cli/mcp/tool.ts";
import { runCode } from "../../../../packages/cli/mcp/tools/code.ts";
import { createCode } from "../../../../packages/sdk/code/code.ts";
import { createRuntimeClient } from "../../../../packages/sdk/runtime/runtimeclient.ts";
import { liveBytes } from "../../../heap.ts";
import { localTransport, OBJECT } from "../../../sdk/localtransport.ts";
import { resultOf, textOf } from "../stage.ts";
import { framed } from "../../../frames.ts";

const MB = 1024 * 1024;

type CodeEvent = NonNullable<MessageInitShape<typeof RunCodeResponseSchema>["event"]>;

/** Runs code that causes this event, so often; `held` is what the server held shortly before the end. */
async function run(
  count: number,
  event: (index: number) => CodeEvent,
  input: object = {},
): Promise<CallToolResult & { held: number }> {
  let index = 0;
  let before = 0;
  let held = 0;
  const pull = async (controller: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>>) => {
    if (index === 0) before = await heldBytes();
    if (index === count) held = await heldBytes() - before;
    if (index > count) {
      controller.enqueue(framed(new TextEncoder().encode("{}"), 2));
      return controller.close();
    }
    controller.enqueue(framed(messageOf(index < count ? event(index) : { case: "ended", value: {} })));
    index++;
  };
  const headers = { "Content-Type": "application/connect+proto" };
  const fetch = () => Promise.resolve(new Response(new ReadableStream({ pull }, { highWaterMark: 0 }), { headers }));
  const code = createCode(createRuntimeClient({ ...localTransport(0), fetch }, OBJECT, undefined));
  const session = { open: () => Promise.resolve(code), resumed: new Set() } as unknown as Session;
  const call = { session, signal: new AbortController().signal, user: undefined, progress: () => {} };
  const given = { sandbox: "test", code: "1", language: "python", timeoutMs: 60_000, maxOutput: 1000, ...input };
  return { ...await callTool(runCode, given, call), held };
}

/** Buffers that nobody needs any more are gone a moment after they were collected. */
async function heldBytes(): Promise<number> {
  liveBytes();
  await new Promise((resolve) => setTimeout(resolve, 50));
  return liveBytes();
}

const messageOf = (event: CodeEvent) => toBinary(RunCodeResponseSchema, create(RunCodeResponseSchema, { event }));

/** Of what is on its way. */
const PASSING_MB = 32;

test.for<[string, number, (index: number) => CodeEvent]>([
  ["output", 60, (index) => ({ case: index % 2 ? "stdout" : "stderr", value: "ab".repeat(MB / 2) })],
  ["results", 50, () => ({ case: "result", value: { html: "h".repeat(MB), extra: { ["m".repeat(MB)]: "" } } })],
  ["images", 30, () => ({ case: "result", value: { png: new Uint8Array(MB) } })],
  [
    "output in long pieces",
    9,
    (index) => ({ case: index % 2 ? "stdout" : "stderr", value: "ab".repeat(index < 2 ? 16 * MB : 1) }),
  ],
])("of %s without end little is held", async ([, count, event]) => {
  const { held, content } = await run(count, event);
  expect(held / MB).toBeLessThan(PASSING_MB);
  expect(JSON.stringify(content).length / MB).toBeLessThan(17);
});

test("of long output beginning and end are returned, and it is said that some is missing", async () => {
  const long = await run(3, (index) => ({ case: "stdout", value: `${index}`.repeat(1000) }));
  const note = "2000 characters left out here. To read all of it, let the code write it to a file and use read_file.";
  expect(textOf(long)).toBe(`--- stdout\n${"0".repeat(500)}\n[… ${note} …]\n${"2".repeat(500)}`);
  expect(resultOf(long)).toMatchObject({ truncated: true });
  const short = await run(1, () => ({ case: "stdout", value: "a" }));
  expect([textOf(short), resultOf(short)]).toMatchObject(["--- stdout\na", { truncated: false }]);
});

test("results that are left out are counted", async () => {
  const answer = await run(
    130,
    (index) => ({ case: "result", value: { text: `${index}`, isMainResult: index === 129 } }),
  );
  expect(answer.content).toHaveLength(102);
  expect(resultOf(answer)).toMatchObject({ truncated: true });
  expect(textOf(answer)).toMatch(/\n99\n\[29 more results left out\. .*\]\n129$/);
});

test("all results together are no longer than maxOutput, and there are ten images at most", async () => {
  const long = await run(50, () => ({ case: "result", value: { text: "r".repeat(400) } }));
  expect(textOf(long).length).toBeLessThan(1300);
  expect(textOf(long)).toMatch(/\[47 more results left out\. /);
  const images = await run(
    15,
    (index) => ({ case: "result", value: { png: new Uint8Array(9), isMainResult: index === 14 } }),
  );
  expect(images.content.filter(({ type }) => type === "image")).toHaveLength(11);
  expect(images.content.at(-1)).toMatchObject({ type: "image" });
  expect(textOf(images)).toContain("[image of 9 bytes left out: save it to a file instead]");
});

test("an exception's words are clipped", async () => {
  const long = "e".repeat(MB);
  const { _meta, content } = await run(
    1,
    () => ({ case: "error", value: { name: long, value: long, traceback: long } }),
  );
  expect(JSON.stringify([_meta, content]).length).toBeLessThan(2000);
});
