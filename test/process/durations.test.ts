/** @module */
import { expect, test } from "vitest";
import { parseDuration } from "../../packages/process/flags.ts";

test.for<[string, number | undefined]>([
  ["180s", 180_000],
  ["1m30s", 90_000],
  ["200ms", 200],
  ["0.5h", 1_800_000],
  ["0", 0],
  ["5", undefined],
  ["", undefined],
  ["1d", undefined],
  ["-5s", undefined],
])("parseDuration() reads %s as %s", ([text, ms]) => expect(parseDuration(text)).toBe(ms));
