/** When the binder requeues pools that are short: sooner the fewer are left, never after the bound, again with back-off. @module */
import { expect, test } from "vitest";
import { createRefills, refillDelay } from "../../packages/binder/refills.ts";
import { createFakeClock } from "../../packages/testing/clock.ts";
import { ago, aPool } from "../pools.ts";

const BOUND = 5000;
const pool = aPool({ spec: { replicas: 10 } });

/** A pool of ten on a clock of its own; notes when it was requeued, in milliseconds from the start. */
function aShortage(isBusy = false) {
  const clock = createFakeClock(0);
  const told: number[] = [];
  const counts = { members: 10, ready: 10, waiting: 0 };
  const state = { ...counts, isBusy, isBehind: false, isGone: false, hasTemplate: true, hasLost: false, pool };
  const refills = createRefills({
    clock,
    shortageOf: () => state.isGone ? undefined : state,
    notify: () => Promise.resolve(void told.push(clock.now())),
  });
  /** So many members are left from now on, all of them Ready. */
  const left = (members: number, ready = members) => {
    Object.assign(state, { members, ready });
    refills.look("team-a", "warm");
  };
  return { clock, told, state, refills, left };
}

test("a full pool that counts wrongly is requeued after a while, and not once it counts right", async () => {
  const { clock, told, left, state } = aShortage();
  state.isBehind = true;
  left(10);
  await clock.advance(4000);
  state.isBehind = false;
  left(10);
  await clock.advance(60_000);
  expect(told).toEqual([]);
  state.isBehind = true;
  left(10);
  await clock.advance(6000);
  expect(told).toEqual([69_000]);
});

test("a full pool is not told anything", async () => {
  const { clock, told, left } = aShortage();
  left(10);
  left(12);
  await clock.advance(600_000);
  expect(told).toEqual([]);
});

const short = {
  pool,
  hasTemplate: true,
  hasLost: false,
  members: 9,
  ready: 9,
  waiting: 0,
  isBusy: false,
  isBehind: false,
};
const delays = [
  ["nobody waits, one is missing", {}, 900],
  ["nobody waits, half are missing", { ready: 5 }, 500],
  ["nobody waits, none is left", { ready: 0 }, 50],
  ["more are Ready than were asked for", { ready: 99 }, 1000],
  ["no member is wanted", { pool: aPool({ spec: { replicas: 0 } }), members: 0, ready: 0 }, 50],
  ["few wait, enough are left", { ready: 5, waiting: 5 }, 500],
  ["few wait, not enough are left", { ready: 5, waiting: 6 }, 50],
  ["many wait, of another pool, and none is left", { ready: 0, isBusy: true }, BOUND],
  ["many wait, enough are left for those of this one", { ready: 5, waiting: 5, isBusy: true }, BOUND],
  ["many wait, not enough are left for those of this one", { ready: 5, waiting: 6, isBusy: true }, 50],
] as const;
test.for(delays)("how long a pool waits if %s", ([, more, want]) => {
  expect(refillDelay({ ...short, ...more })).toBe(want);
});

test("bindings are reported together, after the first of them, and sooner where nobody waits", async () => {
  const busy = aShortage(true);
  busy.left(9);
  await busy.clock.advance(1000);
  busy.left(8);
  await busy.clock.advance(3900);
  expect(busy.told).toEqual([]);
  await busy.clock.advance(200);
  expect(busy.told).toEqual([5000]);
  const calm = aShortage();
  calm.left(9);
  await calm.clock.advance(2000);
  expect(calm.told[0]).toBe(900);
});

test("a pool that has run dry is requeued at once if a claim waits for it, whatever was planned", async () => {
  const { clock, told, state, left } = aShortage(true);
  left(9);
  await clock.advance(300);
  state.waiting = 1;
  left(0);
  await clock.advance(60);
  expect(told).toEqual([300]);
});

test("a burst that ends is reported soon after, not at the bound", async () => {
  const { clock, told, state, left } = aShortage(true);
  left(8);
  await clock.advance(1500);
  state.isBusy = false;
  await clock.advance(200);
  expect(told).toEqual([1600]);
});

test("a requeue has its effect: there is no other one while the pool fills, nor when it is full", async () => {
  const { clock, told, left } = aShortage();
  left(0);
  await clock.advance(100);
  expect(told).toEqual([50]);
  for (let members = 1; members <= 10; members++) {
    left(members);
    await clock.advance(100);
  }
  await clock.advance(600_000);
  expect(told).toEqual([50]);
});

test("a member lost after that is news", async () => {
  const { clock, told, left } = aShortage();
  left(5);
  await clock.advance(600);
  expect(told).toEqual([500]);
  left(6);
  left(5);
  await clock.advance(500);
  expect(told).toEqual([500, 1100]);
});

test("if nothing comes of it the pool is requeued again, less and less often", async () => {
  const { clock, told, left } = aShortage();
  left(0);
  await clock.advance(400_000);
  const waits = told.slice(1).map((time, index) => time - (told[index] ?? 0));
  expect(waits.slice(0, 7)).toEqual([2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]);
});

test("a shortage that is over before its time is not told", async () => {
  const { clock, told, left } = aShortage(true);
  left(9);
  await clock.advance(1000);
  left(10);
  await clock.advance(60_000);
  expect(told).toEqual([]);
});

test("a pool that goes or is gone is left alone", async () => {
  const { clock, told, left, state } = aShortage();
  left(5);
  state.pool = aPool({ spec: { replicas: 10 }, metadata: { deletionTimestamp: ago(1) } });
  await clock.advance(60_000);
  Object.assign(state, { pool, isGone: true });
  left(5);
  await clock.advance(60_000);
  expect(told).toEqual([]);
});

test("a pool whose template is not there lacks nothing that it could make, and is requeued only if it counts wrongly", async () => {
  const { clock, told, left, state } = aShortage();
  state.hasTemplate = false;
  left(0);
  await clock.advance(600_000);
  expect(told).toEqual([]);
  state.isBehind = true;
  left(0);
  await clock.advance(6000);
  expect(told).toEqual([605_000]);
});

test("each pool has its own shortage", async () => {
  const clock = createFakeClock(0);
  const told: string[] = [];
  const refills = createRefills({
    clock,
    shortageOf: (namespace, name) => ({
      ...short,
      pool: aPool({ metadata: { namespace, name } }),
      members: 0,
      ready: 0,
    }),
    notify: ({ pool: { metadata: { namespace, name } } }) => Promise.resolve(void told.push(`${namespace}/${name}`)),
  });
  for (const [namespace = "", name = ""] of [["a", "p"], ["a", "q"], ["b", "p"]]) refills.look(namespace, name);
  await clock.advance(100);
  expect(told).toEqual(["a/p", "a/q", "b/p"]);
});

test("stop() ends all plans", async () => {
  const { clock, told, refills, left } = aShortage();
  left(0);
  refills.stop();
  await clock.advance(60_000);
  expect(told).toEqual([]);
});
