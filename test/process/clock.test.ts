import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createDeadlines } from "../../packages/process/clock.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

test("each is late when its own time is over, and not a moment before; one that has ended never is", () => {
  const deadlines = createDeadlines(1000);
  const late: string[] = [];
  const begin = (name: string) => deadlines.begin(() => late.push(name));
  begin("first");
  vi.advanceTimersByTime(400);
  const end = begin("ended");
  begin("second");
  vi.advanceTimersByTime(599);
  expect(late).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(late).toEqual(["first"]);
  end();
  vi.advanceTimersByTime(399);
  expect(late).toEqual(["first"]);
  vi.advanceTimersByTime(1);
  expect(late).toEqual(["first", "second"]);
  end();
  begin("third");
  vi.advanceTimersByTime(1000);
  expect(late).toEqual(["first", "second", "third"]);
});

test("many have one timer, which goes when nothing is left to wait for", () => {
  const deadlines = createDeadlines(1000);
  const ends = Array.from({ length: 50 }, () => deadlines.begin(() => {}));
  expect(vi.getTimerCount()).toBe(1);
  ends.forEach((end) => end());
  vi.advanceTimersByTime(1000);
  expect(vi.getTimerCount()).toBe(0);
});

test("one that is late may begin another", () => {
  const deadlines = createDeadlines(1000);
  const late: number[] = [];
  deadlines.begin(() => {
    late.push(1);
    deadlines.begin(() => late.push(2));
  });
  vi.advanceTimersByTime(1000);
  expect([late, vi.getTimerCount()]).toEqual([[1], 1]);
  vi.advanceTimersByTime(1000);
  expect(late).toEqual([1, 2]);
});

test("one of more than 24 days is late in time, and its timer does not fire again and again before", () => {
  const ms = 2 ** 31 + 1000;
  const late = vi.fn();
  const fired = vi.spyOn(globalThis, "setTimeout");
  createDeadlines(ms).begin(late);
  vi.advanceTimersByTime(10);
  expect(fired).toHaveBeenCalledTimes(1);
  vi.advanceTimersByTime(ms - 11);
  expect(late).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  expect(late).toHaveBeenCalledTimes(1);
});
