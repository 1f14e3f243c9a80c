/** @module */
import { expect, test } from "vitest";
import { type Memories, recall } from "../../../hooks/sandboxwarmpool/memory.ts";

test("recall() gives a pool its own memory again, and nobody else's", () => {
  const memories: Memories = new Map();
  const memory = recall(memories, "a", 0);
  expect(recall(memories, "a", 1)).toBe(memory);
  expect(recall(memories, "b", 1)).not.toBe(memory);
});

test("recall() forgets assignments after ten seconds, and what was asked for after one", () => {
  const memories: Memories = new Map();
  const memory = recall(memories, "a", 0);
  memory.assignments.set("c", { uid: "s", name: "s", resourceVersion: "1", at: 0 });
  memory.asked.set("c", 0);
  recall(memories, "a", 999);
  expect([memory.assignments.size, memory.asked.size]).toEqual([1, 1]);
  recall(memories, "a", 1000);
  expect([memory.assignments.size, memory.asked.size]).toEqual([1, 0]);
  recall(memories, "a", 9999);
  expect(memory.assignments.size).toBe(1);
  recall(memories, "a", 10_000);
  expect(memory.assignments.size).toBe(0);
});

test("recall() keeps a thousand pools, those called for last", () => {
  const memories: Memories = new Map();
  const first = recall(memories, "0", 0);
  for (let pool = 1; pool < 1000; pool++) recall(memories, String(pool), 0);
  recall(memories, "0", 0);
  recall(memories, "1000", 0);
  expect(memories.size).toBe(1000);
  expect([memories.get("0"), memories.has("1"), memories.has("2")]).toEqual([first, false, true]);
});
