/** Text of other components in fields that the API server checks: every text becomes valid. @module */
import fc from "../../properties.ts";
import { expect, test } from "vitest";
import { conditionsSchema } from "../../../packages/api/fields.ts";
import { cutText, fitCondition, fitReason } from "../../../packages/api/objects/conditions.ts";

test.for([
  ["Unschedulable", "Unschedulable"],
  ["queue-full", "QueueFull"],
  ["Pod group: not ready!", "PodGroup:NotReady"],
  ["3rd try", "RdTry"],
  ["ends,", "Ends"],
  ["ends:now", "ends:now"],
  ["", "Fallback"],
  ["12", "Fallback"],
  ["—", "Fallback"],
  ["Zähler läuft", "ZHlerLUft"],
  ["x".repeat(5000), "X" + "x".repeat(1023)],
])("fitReason(%j) is %j", ([word, want]) => {
  expect(fitReason(word ?? "", "Fallback")).toBe(want);
});

test("a message contains a changed reason as it was", () => {
  const condition = { type: "PodScheduled", status: "False", message: "gang waits", lastTransitionTime: "" } as const;
  expect(fitCondition({ ...condition, reason: "queue-full" })).toMatchObject({
    reason: "QueueFull",
    message: "queue-full: gang waits",
  });
  expect(fitCondition({ ...condition, reason: "QueueFull" })).toMatchObject({ message: "gang waits" });
});

test("no character is cut in two", () => {
  expect(cutText("a😀b", 3)).toBe("a…");
  expect(cutText("a\ud83d", 9)).toBe("a\ufffd");
});

test("whatever the words are, a condition of ours takes them, and again as they are", () => {
  const text = fc.string({ unit: fc.oneof(fc.constantFrom(..."aZ09_-,: .\n\u0000\ud800é😀"), fc.string()) });
  const words = fc.oneof(text, text.map((some) => some.repeat(3000)));
  const schema = conditionsSchema("any");
  fc.assert(fc.property(words, words, (reason, message) => {
    const condition = {
      type: "A",
      status: "False",
      reason,
      message,
      lastTransitionTime: "2026-01-01T00:00:00Z",
    } as const;
    const fitted = fitCondition(condition);
    schema.parse([fitted]);
    expect(fitted.message.length).toBeLessThanOrEqual(32_768);
    expect([fitted.reason, fitted.message].every((one) => one.isWellFormed())).toBe(true);
    expect(fitCondition(fitted)).toEqual(fitted);
  }));
});
