/** The work queue: order, exclusion, delays and back-off, on a clock that stands still. @module */
import { expect, test } from "vitest";
import { createFakeClock } from "../../../packages/testing/clock.ts";
import { createQueue } from "../../../packages/testing/metacontroller/queue.ts";

/** A queue that records when which key was worked on; work lasts until `finish` is called if `holding`. */
function trial({ workers = 1, holding = false } = {}) {
  const clock = createFakeClock(0);
  const worked: [string, number][] = [];
  const held: (() => void)[] = [];
  const queue = createQueue(clock, workers, async (key) => {
    worked.push([key, clock.now()]);
    if (holding) await new Promise<void>((resolve) => held.push(resolve));
  });
  queue.start();
  const finish = async () => {
    held.shift()?.();
    await clock.advance(0);
  };
  return { clock, queue, worked, finish };
}

test("keys come in order, each once however often it was added", async () => {
  const { queue, worked, finish } = trial({ holding: true });
  for (const key of ["a", "b", "c", "b", "c"]) queue.add(key);
  expect(queue.busy()).toBe(3);
  for (let i = 0; i < 4; i++) await finish();
  expect(worked.map(([key]) => key)).toStrictEqual(["a", "b", "c"]);
  expect(queue.busy()).toBe(0);
});

test("a key is never worked on twice at a time; what comes during the work causes one more round", async () => {
  const { queue, worked, finish } = trial({ workers: 3, holding: true });
  for (const key of ["a", "a", "a", "b"]) queue.add(key);
  expect(worked.map(([key]) => key)).toStrictEqual(["a", "b"]);
  await finish();
  expect(worked.map(([key]) => key)).toStrictEqual(["a", "b", "a"]);
  await finish();
  await finish();
  expect(worked).toHaveLength(3);
});

test("as many at a time as there are workers", async () => {
  const { queue, worked, finish } = trial({ workers: 2, holding: true });
  for (const key of ["a", "b", "c"]) queue.add(key);
  expect(worked).toHaveLength(2);
  await finish();
  expect(worked).toHaveLength(3);
});

test("of several delays the earliest wins, once", async () => {
  const { clock, queue, worked } = trial();
  queue.addAfter("a", 500);
  queue.addAfter("a", 200);
  queue.addAfter("a", 900);
  await clock.advance(1000);
  expect(worked).toStrictEqual([["a", 200]]);
});

test("a delay that is pending is not cancelled by work before it", async () => {
  const { clock, queue, worked } = trial();
  queue.addAfter("a", 200);
  queue.add("a");
  await clock.advance(1000);
  expect(worked).toStrictEqual([["a", 0], ["a", 200]]);
});

test.for([0, -5])("a delay of %i means now", async (milliseconds) => {
  const { clock, queue, worked } = trial();
  queue.addAfter("a", milliseconds);
  await clock.advance(0);
  expect(worked).toStrictEqual([["a", 0]]);
});

test("failures of a key wait 5 ms, doubled each time, at most 1000 s, until it is forgotten", async () => {
  const { clock, queue, worked } = trial();
  let due = 0;
  for (let failures = 0; failures < 20; failures++) {
    queue.addRateLimited("a");
    due += Math.min(5 * 2 ** failures, 1_000_000);
    await clock.advance(due - clock.now());
    expect(worked.at(-1)).toStrictEqual(["a", due]);
  }
  queue.forget("a");
  queue.addRateLimited("a");
  await clock.advance(5);
  expect(worked.at(-1)).toStrictEqual(["a", due + 5]);
});

test("failures of all keys: a hundred at once, then ten per second", async () => {
  const { clock, queue, worked } = trial();
  for (let i = 0; i < 130; i++) queue.addRateLimited(`key${i}`);
  await clock.advance(5);
  expect(worked).toHaveLength(100);
  await clock.advance(995);
  expect(worked).toHaveLength(110);
  await clock.advance(2000);
  expect(worked).toHaveLength(130);
});

test("keys wait for the start, and stop waits for work", async () => {
  const clock = createFakeClock(0);
  const worked: string[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  const queue = createQueue(clock, 1, async (key) => {
    await promise;
    worked.push(key);
  });
  queue.add("a");
  await clock.advance(0);
  expect(queue.busy()).toBe(1);
  queue.start();
  queue.add("b");
  queue.addAfter("c", 10);
  const stopped = queue.stop();
  resolve();
  await stopped;
  queue.add("d");
  queue.start();
  await clock.advance(100);
  expect(worked).toStrictEqual(["a"]);
});
