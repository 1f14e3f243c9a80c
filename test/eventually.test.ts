/** Waiting as the tests do. @module */
import { expect, test } from "vitest";
import { untilThere } from "./eventually.ts";

test("untilThere() waits until a list has grown, and fails at once where it has grown too far", async () => {
  const list = ["a"];
  const both = untilThere(2, () => list);
  list.push("b");
  await both;
  list.push("c", "d");
  await expect(untilThere(3, () => list)).rejects.toThrow(/length of 3 but got 4/);
});
