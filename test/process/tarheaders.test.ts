/** Times of any year go through a tar, to tar(1) as well. @module */
import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import type { Header } from "tar-stream";
import { textOfName } from "../../packages/process/filenames.ts";
import { dateOf, extractNames } from "../../packages/process/tarheaders.ts";
import { createTarWriter } from "../../packages/process/tarwriter.ts";
import { Buffer } from "node:buffer";

const TIMES = [
  ["1900-01-01T00:00:00.000Z", "of a century ago"],
  ["1969-12-31T23:59:59.000Z", "before 1970"],
  ["1970-01-01T00:00:00.000Z", "the first"],
  ["2026-11-28T12:00:00.000Z", "of today"],
  ["2038-01-19T03:14:07.000Z", "the last of 31 bits"],
  ["2038-01-19T03:14:08.000Z", "the first beyond 31 bits"],
  ["2400-01-01T00:00:00.000Z", "beyond 33 bits"],
] as const;

/** A tar of one empty file. */
async function tarOf(name: string, mtime: Date): Promise<Uint8Array[]> {
  const tar = createTarWriter();
  const done = tar.putFile({ name, size: 0, mtime }, (async function* () {})()).then(tar.end);
  const parts: Uint8Array[] = [];
  for await (const chunk of tar.chunks) parts.push(chunk);
  await done;
  return parts;
}

async function headerOf(parts: Uint8Array[]): Promise<Header> {
  const tar = extractNames();
  for (const part of parts) tar.write(part);
  tar.end(undefined);
  for await (const entry of tar) {
    entry.resume();
    return entry.header;
  }
  throw new Error("Cannot read the tar: it is empty");
}

test.for(TIMES)("%s, %s", async ([time]) => {
  const parts = await tarOf("f", new Date(time));
  expect(dateOf(await headerOf(parts))?.toISOString()).toBe(time);
  const listed = execFileSync("tar", ["-tvf", "-", "--utc", "--full-time"], { input: Buffer.concat(parts) });
  expect(String(listed)).toContain(time.slice(0, 19).replace("T", " "));
});

test("a name that is not UTF-8 keeps its bytes, whatever its time is", async () => {
  const header = await headerOf(await tarOf(textOfName(Uint8Array.of(0xff)), new Date("2400-01-01T00:00:00Z")));
  expect(header.name).toContain("\u00ff");
  expect(dateOf(header)?.toISOString()).toBe("2038-01-19T03:14:07.000Z");
});

test("dateOf() gives no time that a file cannot have", () => {
  expect(dateOf({ mtime: new Date(NaN), pax: { mtime: "x" } })).toBeUndefined();
  expect(dateOf({ mtime: new Date(5), pax: { mtime: "1e99" } })).toEqual(new Date(5));
});
