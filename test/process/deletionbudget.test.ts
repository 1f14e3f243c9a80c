/** @module */
import { expect, test } from "vitest";
import { readValue } from "../../packages/process/flags.ts";
import { createDeletionBudget, DELETION_RATE } from "../../packages/process/deletionbudget.ts";

const MINUTE = 60_000;

/** A budget of 60 a minute, on a clock that is moved by hand. */
function aBudget(perMinute = 60) {
  let now = 1_000_000;
  let made = 0;
  const budget = createDeletionBudget({ perMinute, now: () => now });
  const uids = (count: number) => Array.from({ length: count }, () => `uid-${made++}`);
  return {
    budget,
    uids,
    wait: (milliseconds: number) => void (now += milliseconds),
    /** How many of `count` more may go. */
    passes: (namespace: string, count: number) => count - budget.spend(namespace, uids(count)).size,
  };
}

test("begins empty, fills at the rate, up to five minutes' worth", () => {
  const { passes, wait } = aBudget();
  expect(passes("a", 10)).toBe(0);
  wait(20_000);
  expect(passes("a", 30), "half of twenty").toBe(10);
  wait(60 * MINUTE);
  expect(passes("a", 1000), "half of three hundred, and its share").toBe(155);
});

test("a namespace leaves as much as it has used to others", () => {
  const { passes, wait } = aBudget();
  wait(60 * MINUTE);
  expect([passes("a", 1000), passes("a", 1), passes("b", 1000), passes("c", 1)]).toEqual([155, 0, 80, 1]);
});

test("no more is deleted in an hour than the rate allows, however often it is tried and by however many", () => {
  const { passes, wait } = aBudget();
  let gone = 0;
  for (let second = 0; second < 3600; second++) {
    for (const namespace of ["a", "b", "c"]) gone += passes(namespace, 5);
    wait(1000);
  }
  expect(gone).toBeGreaterThan(3000);
  expect(gone, "a sixtieth is each namespace's own").toBeLessThanOrEqual(3600 + 3 * 60);
});

test("what has passed passes again for five minutes without being counted", () => {
  const { budget, uids, wait } = aBudget();
  wait(10_000);
  const gone = uids(5);
  expect(budget.spend("a", gone).size).toBe(0);
  expect(budget.spend("a", [...gone, "another"])).toEqual(new Set(["another"]));
  wait(5 * MINUTE);
  for (let i = 0; i < 20; i++) budget.spend(`other-${i}`, uids(1000));
  expect(budget.spend("a", uids(5)).size, "its share").toBe(0);
  expect(budget.spend("a", gone).size, "then it is a loss like any other").toBe(5);
});

test("what waits is not counted, and goes when there is room", () => {
  const { budget, uids, wait } = aBudget();
  const waiting = uids(3);
  for (let i = 0; i < 50; i++) expect(budget.spend("a", waiting).size).toBe(3);
  wait(6000);
  expect(budget.spend("a", waiting).size).toBe(0);
});

test("an infinite rate is no limit, and is written as a word: 0 would read as none", () => {
  expect(aBudget(Infinity).passes("a", 10_000)).toBe(10_000);
  const read = (text: string) => readValue("--max-losses-per-minute", DELETION_RATE, text);
  expect([read("unlimited"), read("0.5")]).toEqual([Infinity, 0.5]);
  for (const text of ["0", "-1", "few", "", " ", "Infinity"]) {
    expect(() => read(text)).toThrow(`Cannot use --max-losses-per-minute "${text}": use a number above 0`);
  }
});

test("each namespace has a share of its own, however many others have used up what is there for all", () => {
  const { passes, wait } = aBudget(600);
  wait(60 * MINUTE);
  for (let i = 0; i < 14; i++) passes(`other-${i}`, 1500);
  expect(passes("a", 100), "five minutes of a sixtieth").toBeGreaterThanOrEqual(50);
  for (let i = 0; i < 50; i++) passes(`more-${i}`, 1500);
  expect(passes("a", 1)).toBe(0);
  wait(5 * MINUTE);
  for (let i = 0; i < 100; i++) passes(`others-${i}`, 1500);
  expect(passes("a", 100), "and the same again").toBe(50);
  expect(passes("b", 1), "so has one that nobody has heard of").toBe(1);
});

test("what is remembered has an end, no matter who asks: the oldest is forgotten", () => {
  const { passes, wait } = aBudget(600);
  wait(60 * MINUTE);
  for (let i = 0; i < 3000; i++) passes(`none-${i}`, 60);
  expect(passes("none-2999", 1)).toBe(0);
  expect(passes("none-0", 1), "forgotten").toBe(1);
});
