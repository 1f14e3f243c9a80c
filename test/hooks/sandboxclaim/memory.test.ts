/** What is remembered of claims, and for how many. @module */
import { expect, test } from "vitest";
import { type Memories, recall } from "../../../hooks/sandboxclaim/memory.ts";

test("recall() remembers when a claim was first seen", () => {
  const memories: Memories = new Map();
  expect(recall(memories, "a", 1)).toEqual({ firstSeen: 1, missingSince: undefined });
  expect(recall(memories, "b", 2).firstSeen).toBe(2);
  recall(memories, "a", 3).missingSince = 3;
  expect(recall(memories, "a", 4)).toEqual({ firstSeen: 1, missingSince: 3 });
});

test("recall() forgets those not called for longest", () => {
  const memories: Memories = new Map();
  for (let index = 0; index < 10_000; index++) recall(memories, `uid-${index}`, index);
  recall(memories, "uid-0", 10_000);
  recall(memories, "one too many", 10_001);
  expect(memories.size).toBe(10_000);
  expect(memories.get("uid-0")?.firstSeen).toBe(0);
  expect(memories.has("uid-1")).toBe(false);
});
