/** readChunks() and streamOf(): the right bytes, and no file left open, however the reader leaves. @module */
import { readdir, readFile, truncate, writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { openForRead, partOf, readChunks, sizeOf, streamOf } from "../../../packages/runtime/files/read.ts";
import { createRoot } from "../../../packages/runtime/confine.ts";
import { makeRoot, textOf } from "../folders.ts";

async function openIn(content: string) {
  const made = await makeRoot({ "f": content });
  const before = (await readdir("/proc/self/fd")).length;
  const { handle } = await openForRead(made.root, "f");
  if (!handle) throw new TypeError("Cannot open f: it is not a file");
  const stillOpen = async () => (await readdir("/proc/self/fd")).length - before;
  return { ...made, handle, stillOpen };
}

test("readChunks() gives the part that is asked for, and closes the file", async () => {
  const { handle, stillOpen } = await openIn("0123456789");
  expect(await textOf(readChunks(handle, 2, 5))).toBe("23456");
  expect(await stillOpen()).toBe(0);
});

test("readChunks() fails if the file gets shorter: what was promised cannot be sent", async () => {
  const { handle, at, stillOpen } = await openIn("0123456789");
  await truncate(at("f"), 4);
  await expect(textOf(readChunks(handle, 0, 10))).rejects.toThrow(RangeError);
  expect(await stillOpen()).toBe(0);
});

test("readChunks() sends no more than it promised if the file grows", async () => {
  const { handle, at } = await openIn("0123456789");
  await writeFile(at("f"), "0123456789 and more");
  expect(await textOf(readChunks(handle, 0, 10))).toBe("0123456789");
});

test.for([0, 1, 3])("streamOf() closes the file for a reader that leaves after %i chunks", async (chunks) => {
  const { handle, stillOpen } = await openIn("x".repeat(1_000_000));
  const reader = streamOf(readChunks(handle, 0, 1_000_000)).getReader();
  for (let i = 0; i < chunks; i++) await reader.read();
  expect(await stillOpen()).toBe(1);
  await reader.cancel();
  expect(await stillOpen()).toBe(0);
});

test("a file that the kernel makes up is read to its end, though it says that it has 0 bytes", async () => {
  const root = await createRoot("/proc/sys/kernel");
  const { handle, ...file } = await openForRead(root, "random/boot_id");
  if (!handle) throw new TypeError("Cannot open boot_id: it is not a file");
  const opened = { handle, content: undefined, ...file };
  const content = await readFile("/proc/sys/kernel/random/boot_id", "utf8");
  expect([file.stats.size, sizeOf(opened)]).toEqual([0, content.length]);
  expect(await textOf(partOf(opened, 5, 4))).toBe(content.slice(5, 9));
});
