/** Answers for one key keep their distance, those for others do not wait for them. @module */
import { expect, test } from "vitest";
import { createFakeClock } from "../../packages/testing/clock.ts";
import { createThrottle } from "../../packages/webhook/throttle.ts";

/** A throttle on a clock of its own; `let` notes when something of a key goes through, in milliseconds from the start. */
function aPace(intervalMs: number, mostHeld = 3, longestMs = Infinity) {
  const clock = createFakeClock(0);
  const throttle = createThrottle({ mostHeld, longestMs, clock });
  const through: string[] = [];
  const come = (key: string) =>
    void throttle.wait({ key, intervalMs }).then(() => through.push(`${key} ${clock.now()}`));
  return { clock, through, come };
}

test("the first of a key goes through at once, the next when the interval is over", async () => {
  const { clock, through, come } = aPace(1000);
  come("a");
  await clock.advance(300);
  come("a");
  await clock.advance(2000);
  expect(through).toEqual(["a 0", "a 1000"]);
});

test("after a rest nothing waits", async () => {
  const { clock, through, come } = aPace(1000);
  come("a");
  await clock.advance(1000);
  come("a");
  await clock.advance(0);
  expect(through).toEqual(["a 0", "a 1000"]);
});

test("the interval counts from when the one before went through, not from when it came", async () => {
  const { clock, through, come } = aPace(1000);
  come("a");
  await clock.advance(900);
  come("a");
  await clock.advance(600);
  come("a");
  await clock.advance(5000);
  expect(through).toEqual(["a 0", "a 1000", "a 2000"]);
});

test("one key does not wait for another", async () => {
  const { clock, through, come } = aPace(1000);
  for (const key of ["a", "b", "a", "c"]) come(key);
  await clock.advance(0);
  expect(through).toEqual(["a 0", "b 0", "c 0"]);
});

test("no more are held than may be: each occupies a worker, further ones go through", async () => {
  const { clock, through, come } = aPace(1000, 2);
  for (const key of ["a", "b", "c", "d"]) come(key);
  await clock.advance(100);
  for (const key of ["a", "b", "c", "d"]) come(key);
  await clock.advance(0);
  expect(through.slice(4)).toEqual(["c 100", "d 100"]);
  await clock.advance(1000);
  expect(through.slice(6)).toEqual(["a 1000", "b 1000"]);
  for (const key of ["c", "d"]) come(key);
  await clock.advance(0);
  expect(through.slice(8), "places are free again, and c and d have rested").toEqual(["c 1100", "d 1100"]);
});

test("none is held for longer than its answer is waited for, whatever the interval", async () => {
  const { clock, through, come } = aPace(20_000, 3, 8000);
  come("a");
  await clock.advance(1000);
  come("a");
  await clock.advance(8000);
  expect(through).toEqual(["a 0", "a 9000"]);
});

test("an interval of 0 holds nothing back", async () => {
  const { clock, through, come } = aPace(0);
  come("a");
  come("a");
  await clock.advance(0);
  expect(through).toEqual(["a 0", "a 0"]);
});

test("of one key as many as may be held go through one after the other", async () => {
  const { clock, through, come } = aPace(100);
  for (let count = 0; count < 4; count++) come("a");
  await clock.advance(1000);
  expect(through).toEqual(["a 0", "a 100", "a 200", "a 300"]);
});

test("a crowd is not held back until it is over: to space out a few of many would be in vain", async () => {
  const { clock, through, come } = aPace(100);
  for (let count = 0; count < 6; count++) come("a");
  await clock.advance(10);
  expect(through, "the fifth and the sixth").toEqual(["a 0", "a 0", "a 0"]);
  await clock.advance(400);
  for (let count = 0; count < 3; count++) come("a");
  await clock.advance(0);
  expect(through.slice(6)).toEqual(["a 410", "a 410", "a 410"]);
  await clock.advance(501);
  for (let count = 0; count < 2; count++) come("a");
  await clock.advance(0);
  expect(through.slice(9), "half a second later they are few again").toEqual(["a 911"]);
});
