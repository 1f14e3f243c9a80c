/** createEvents() and readLines(): what waits for a reader, and how lines are separated. @module */
import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { createKernelEvents, type KernelEvent } from "../../../packages/runtime/contexts/events.ts";
import { readLines } from "../../../packages/runtime/contexts/kernel.ts";

async function all(events: AsyncIterable<KernelEvent>): Promise<KernelEvent[]> {
  const seen: KernelEvent[] = [];
  for await (const event of events) seen.push(event);
  return seen;
}

test("read() yields what is pushed until the end, text of one stream joined", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const events = createKernelEvents([]);
  events.push({ stdout: "before anybody reads" });
  const reading = all(events.read(promise));
  for (const text of ["a", "", "b"]) events.push({ stdout: text });
  events.push({ stderr: "c" });
  events.push({ result: { "text/plain": "1" }, main: true });
  events.push({ stdout: "d" });
  resolve();
  expect(await reading).toEqual([
    { stdout: "ab" },
    { stderr: "c" },
    { result: { "text/plain": "1" }, main: true },
    { stdout: "d" },
  ]);
});

test("joined text keeps the places where the program flushed it, also right after what was read before", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const events = createKernelEvents([]);
  const reader = events.read(promise);
  events.push({ stdout: "a" });
  events.push({ stdout: "bc", ends: [2] });
  events.push({ stdout: "d" });
  events.push({ stdout: "", ends: [0] });
  expect((await reader.next()).value).toEqual({ stdout: "abcd", ends: [3, 4] });
  events.push({ stderr: "", ends: [0] });
  events.push({ stderr: "" });
  resolve();
  expect(await all(reader)).toEqual([{ stderr: "", ends: [0] }]);
});

test("a reader that is behind holds the streams up, and one that leaves releases them", async () => {
  const stream = new PassThrough();
  stream.resume();
  const events = createKernelEvents([stream]);
  const reader = events.read(new Promise(() => {}));
  events.push({ stdout: "x".repeat(2 << 20) });
  expect(stream.isPaused()).toBe(true);
  await reader.next();
  await reader.return(undefined);
  expect(stream.isPaused()).toBe(false);
});

test("readLines() puts lines together from any pieces, and UTF-8 across them", async () => {
  const stream = new PassThrough();
  const lines: string[] = [];
  readLines(stream, 100, (line) => lines.push(line));
  for (const byte of new TextEncoder().encode("één\n\ntwo\nrest")) stream.write(new Uint8Array([byte]));
  stream.end("\nno end");
  await new Promise((resolve) => stream.once("end", resolve));
  expect(lines).toEqual(["één", "", "two", "rest"]);
});

test("readLines() cuts a line that is too long, and goes on with the next", async () => {
  const stream = new PassThrough();
  const lines: string[] = [];
  readLines(stream, 5, (line) => lines.push(line));
  stream.write("1234");
  stream.end("56789\nnext\n");
  await new Promise((resolve) => stream.once("end", resolve));
  expect(lines).toEqual(["12345", "next"]);
});
