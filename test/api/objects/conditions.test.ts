/** @module */
import { expect, test } from "vitest";
import { type Condition, findCondition, rfc3339, stamp } from "../../../packages/api/objects/conditions.ts";
import { NOW } from "../../sandboxes.ts";

const OLD: Condition = {
  type: "Ready",
  status: "False",
  reason: "A",
  message: "a",
  observedGeneration: 1,
  lastTransitionTime: "2020-01-01T00:00:00Z",
};

test("stamp() keeps the time while the status stays, whatever reason and message say", () => {
  const next = stamp({ type: "Ready", status: "False", reason: "B", message: "b" }, [OLD], 2, NOW);
  expect(next).toEqual({ ...OLD, reason: "B", message: "b", observedGeneration: 2 });
});

test("stamp() takes the clock when the status flips, and for a condition that is new", () => {
  const flipped = stamp({ type: "Ready", status: "True", reason: "B", message: "" }, [OLD], 2, NOW);
  expect(flipped.lastTransitionTime).toBe("2026-11-21T12:00:00Z");
  expect(stamp({ type: "X", status: "True", reason: "B", message: "" }, [OLD], 2, NOW).lastTransitionTime).toBe(
    "2026-11-21T12:00:00Z",
  );
  expect(stamp({ type: "X", status: "True", reason: "B", message: "" }, undefined, undefined, NOW)).not.toHaveProperty(
    "observedGeneration",
  );
});

test("findCondition() finds by type, and nothing in no list", () => {
  expect(findCondition([OLD], "Ready")).toBe(OLD);
  expect(findCondition(undefined, "Ready")).toBeUndefined();
});

test("rfc3339() cuts fractions off", () => {
  expect(rfc3339(new Date("2026-11-21T12:00:00.999Z"))).toBe("2026-11-21T12:00:00Z");
});

test("stamp() cuts what is longer than the API server takes, and no character in two", () => {
  const of = (message: string) => stamp({ type: "Ready", status: "True", reason: "B", message }, [], 1, NOW).message;
  expect(of("x".repeat(32_768))).toBe("x".repeat(32_768));
  expect(of("x".repeat(32_769))).toBe(`${"x".repeat(32_767)}…`);
  expect(of(`${"x".repeat(32_766)}😀😀`)).toBe(`${"x".repeat(32_766)}…`);
});
