/** filterMetadata(): the prefix, and names that speak of secrets. @module */
import { expect, test } from "vitest";
import { filterMetadata } from "../../../packages/runtime/rest/rest.ts";

const WORDS = ["TOKEN", "SECRET", "PASSWORD", "PASSWD", "CRED", "KEY", "AUTH", "BEARER", "PRIVATE", "CERT"];

test("filterMetadata() shows what has the prefix, sorted", () => {
  const env = { SANDBOX_B: "2", SANDBOX_A: "1", PATH: "x", MY_SANDBOX_C: "3", SANDBOX_EMPTY: "" };
  expect(Object.entries(filterMetadata({ prefix: "SANDBOX_", env }))).toEqual([
    ["SANDBOX_A", "1"],
    ["SANDBOX_B", "2"],
    ["SANDBOX_EMPTY", ""],
  ]);
});

test.for(WORDS)("filterMetadata() hides names with %s, in any case and anywhere", (word) => {
  const names = [`SANDBOX_${word}`, `SANDBOX_MY_${word}_X`, `SANDBOX_X${word.toLowerCase()}S`];
  const env = Object.fromEntries(names.map((name) => [name, "hidden"]));
  expect(filterMetadata({ prefix: "SANDBOX_", env })).toEqual({});
});
