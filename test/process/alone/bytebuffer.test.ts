/** createByteBuffer(): what comes in parts costs its bytes, and not so much for each part. @module */
import { Hono } from "hono";
import { Buffer } from "node:buffer";
import { once } from "node:events";
import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { readLines } from "../../../packages/runtime/contexts/kernel.ts";
import { createByteBuffer } from "../../../packages/process/bytebuffer.ts";
import { readText } from "../../../packages/runtime/http/body.ts";
import type { HTTPEnv } from "../../../packages/runtime/http/httppath.ts";
import { liveBytes } from "../../heap.ts";

const PARTS = 200_000;
const WANT = Buffer.alloc(PARTS, "x");
const MOST_BYTES = 4 << 20;

/** Gives single bytes, and says at the last one how much has come to live since the first. */
async function* singly(grown: (bytes: number) => void): AsyncGenerator<Uint8Array> {
  const before = liveBytes();
  for (let part = 0; part < PARTS; part++) yield Buffer.from("x");
  grown(liveBytes() - before);
}

test("parts come out as one, whatever their lengths", () => {
  const gathered = createByteBuffer();
  expect(gathered.take().length).toBe(0);
  for (const length of [0, 1, 5000, 1, 100_000]) gathered.add(Buffer.alloc(length, "x"));
  expect([gathered.size(), WANT.subarray(0, 105_002).equals(gathered.take()), gathered.size()]).toEqual([
    105_002,
    true,
    0,
  ]);
});

test("a body that comes byte by byte", async () => {
  let grown = NaN;
  const app = new Hono<HTTPEnv>().post("/", async (c) => c.body(await readText(c, PARTS)));
  const body = Readable.toWeb(Readable.from(singly((bytes) => grown = bytes)));
  const answer = await app.request(
    new Request("http://x/", { method: "POST", body, duplex: "half" } as unknown as RequestInit),
  );
  expect(WANT.equals(new Uint8Array(await answer.arrayBuffer()))).toBe(true);
  expect(grown).toBeLessThan(MOST_BYTES);
});

test("a line that an interpreter writes byte by byte", async () => {
  let grown = NaN;
  const stream = Readable.from(singly((bytes) => grown = bytes), { objectMode: true });
  readLines(stream, PARTS, () => {});
  await once(stream, "end");
  expect(grown).toBeLessThan(MOST_BYTES);
});
