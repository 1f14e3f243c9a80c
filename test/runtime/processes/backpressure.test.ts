/** createBackpressure(): a writer waits for its readers, and not for those who never come back. @module */
import { expect, test, vi } from "vitest";
import { createBackpressure } from "../../../packages/runtime/processes/backpressure.ts";

function aHold() {
  const flow: string[] = [];
  const hold = createBackpressure({ pause: () => flow.push("pause"), resume: () => flow.push("resume") }, 100, 1000);
  return { flow, hold };
}

test("the writer stops when it is too far ahead, and goes on when somebody has read", () => {
  const { flow, hold } = aHold();
  hold.written(99);
  expect(flow).toEqual([]);
  hold.written(150);
  hold.taken(50);
  expect(flow).toEqual(["pause"]);
  hold.taken(51);
  expect(flow).toEqual(["pause", "resume"]);
  hold.taken(10);
  expect(flow, "who reads again from the beginning holds nobody up").toEqual(["pause", "resume"]);
});

test("a writer that nobody reads goes on after a while, and waits again for a reader who comes", () => {
  vi.useFakeTimers();
  try {
    const { flow, hold } = aHold();
    const left = hold.entered();
    hold.written(500);
    vi.advanceTimersByTime(60_000);
    expect(flow, "a slow reader is waited for as long as it is there").toEqual(["pause"]);
    left();
    vi.advanceTimersByTime(999);
    expect(flow).toEqual(["pause"]);
    vi.advanceTimersByTime(1);
    expect(flow).toEqual(["pause", "resume"]);
    hold.entered();
    expect(flow).toEqual(["pause", "resume", "pause"]);
  } finally {
    vi.useRealTimers();
  }
});
