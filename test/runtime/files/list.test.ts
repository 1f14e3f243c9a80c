/** What is said of a file whose time no text can name: some file systems keep any number of seconds. @module */
import { statSync } from "node:fs";
import { expect, test } from "vitest";
import { entryOf } from "../../../packages/runtime/files/list.ts";

const changedAt = (seconds: number) => {
  const stats = statSync(new URL(import.meta.url));
  return Object.assign(stats, { mtimeMs: seconds * 1000, mtime: new Date(seconds * 1000) });
};

test.each([
  ["of today", 1_700_000_000.5, "2023-11-14T22:13:20.500Z"],
  ["of the year 318857", 9_999_999_999_999, "9999-12-31T23:59:59.000Z"],
  ["of the year 10000", 253_402_300_800, "9999-12-31T23:59:59.000Z"],
  ["from before the year 0", -99_999_999_999_999, "0000-01-01T00:00:00.000Z"],
])("a file %s has a time of RFC 3339", (_, seconds, time) => {
  expect(entryOf("x", changedAt(seconds))).toMatchObject({ name: "x", type: "file", modified_at: time });
});
