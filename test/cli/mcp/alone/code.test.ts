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
import { textOf } from "../stage.ts";
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
  const session = { open: () => Promise.resolve(code) } as unknown as Session;
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
  const { structuredContent } = await run(3, (index) => ({ case: "stdout", value: `${index}`.repeat(1000) }));
  const { stdout, truncated } = structuredContent as { stdout: string; truncated: boolean };
  expect(stdout).toBe(`${"0".repeat(500)}\n[… 2000 characters left out …]\n${"2".repeat(500)}`);
  expect(truncated).toBe(true);
  const short = await run(1, () => ({ case: "stdout", value: "a" }));
  expect(short.structuredContent).toMatchObject({ stdout: "a", truncated: false });
});

test("results that are left out are counted", async () => {
  const answer = await run(
    130,
    (index) => ({ case: "result", value: { text: `${index}`, isMainResult: index === 129 } }),
  );
  expect(answer.structuredContent?.["results"]).toHaveLength(101);
  expect(answer.structuredContent).toMatchObject({ text: "129", truncated: true });
  expect(textOf(answer)).toMatch(/\n99\n\[29 results left out\]\n129$/);
});

test("an exception's words are clipped", async () => {
  const long = "e".repeat(MB);
  const { structuredContent, content } = await run(
    1,
    () => ({ case: "error", value: { name: long, value: long, traceback: long } }),
  );
  expect(JSON.stringify([structuredContent, content]).length).toBeLessThan(6000);
});
