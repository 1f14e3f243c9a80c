/** A pool whose Sandboxes the API server refuses asks for few, ever more seldom, and is full soon after it stops refusing. @module */
import { expect, test } from "vitest";
import type { SandboxWarmPoolStatus } from "../../../packages/api/sandboxwarmpool.ts";
import { later, newNames, syncPool } from "../../poolcalls.ts";
import { aMember, aPool } from "../../pools.ts";

type Status = Partial<SandboxWarmPoolStatus>;

/** What happens to a pool, in seconds since its first answer. */
interface Story {
  replicas: number;
  annotations?: Record<string, string>;
  /** How far the hook's clock is ahead, in seconds. */
  aheadAt?: (seconds: number) => number;
  /** How many Sandboxes the API server lets the namespace have. */
  quotaAt: (seconds: number) => number;
  seconds: number;
  /** Shortest time between two answers. @default {1} */
  spacing?: number;
}

/** Answers for a pool as often as Metacontroller asks; returns when how many creations were tried, and of how many members the pool ended. */
function play({ replicas, annotations = {}, aheadAt = () => 0, quotaAt, seconds, spacing = 1 }: Story) {
  const tries: [number, number][] = [];
  let status: Status | undefined;
  let numbers: number[] = [];
  for (let at = 0; at < seconds;) {
    const sandboxes = numbers.map((number) => aMember(number));
    const pool = aPool({ metadata: { annotations }, spec: { replicas }, ...(status ? { status } : {}) });
    const answer = syncPool({ pool, sandboxes }, { now: later(at + aheadAt(at)) });
    const made = answer.children.filter(({ metadata }) => newNames(answer, { sandboxes }).includes(metadata.name))
      .map(({ metadata }) => Number(metadata.annotations?.["agents.x-k8s.io/pool-sequence"]?.split("/")[0]));
    if (made.length > 0) tries.push([at, made.length]);
    const landed = made.slice(0, Math.max(0, quotaAt(at) - numbers.length));
    numbers = [...numbers, ...landed];
    status = { ...answer.status, observedGeneration: 1 };
    // What lands wakes the pool.
    at = Math.round((at + Math.max(spacing, landed.length > 0 ? 0 : answer.resyncAfterSeconds ?? 0)) * 1000) / 1000;
  }
  return { tries, members: numbers.length };
}

const sum = (tries: [number, number][], from: number) =>
  tries.reduce((all, [at, count]) => at >= from ? all + count : all, 0);

test("if none of a batch comes, it tries one, and each time in a row twice as late, up to half a minute", () => {
  const { tries } = play({ replicas: 1000, quotaAt: () => 0, seconds: 200 });
  expect(tries.filter(([, count]) => count > 1).map(([at]) => at), "while the first may be on their way").toEqual(
    [0, 1, 2, 3],
  );
  const seldom = tries.filter(([, count]) => count === 1).map(([at]) => at);
  const apart = seldom.slice(1).map((at, index) => Math.round(at - (seldom[index] ?? 0)));
  expect(apart).toEqual([8, 16, 30, 30, 30, 30, 30]);
});

test("for an hour it sends a few hundred requests more than the first thousand, not hundreds of thousands", () => {
  const { tries } = play({ replicas: 1000, quotaAt: () => 0, seconds: 3600 });
  expect(sum(tries, 10)).toBeLessThan(3600 / 30 + 5);
  expect(sum(tries, 0)).toBeLessThan(1500);
});

test.for(["9999-01-01T00:00:00Z", later(30).toISOString()])(
  "who writes that claims took members at %s gains nothing",
  (when) => {
    const annotations = { "agents.x-k8s.io/handed-over-at": when };
    const { tries } = play({ replicas: 1000, quotaAt: () => 3, seconds: 600, annotations });
    expect(sum(tries, 0)).toBeLessThan(2000);
  },
);

test("a clock that was two hours ahead for a minute holds nothing up once it is right", () => {
  const aheadAt = (seconds: number) => seconds >= 30 && seconds < 90 ? 7200 : 0;
  const quotaAt = (seconds: number) => seconds < 100 ? 0 : Infinity;
  expect(play({ replicas: 1000, aheadAt, quotaAt, seconds: 160 }).members).toBe(1000);
});

test("a pool that may have some has them as soon as before, and then tries few", () => {
  const { tries, members } = play({ replicas: 1000, quotaAt: () => 100, seconds: 600 });
  expect(members).toBe(100);
  expect(sum(tries, 30)).toBeLessThan(200);
});

test("once they are let through, it is full within half a minute and one batch", () => {
  const quotaAt = (seconds: number) => seconds < 500 ? 3 : Infinity;
  expect(play({ replicas: 50, quotaAt, seconds: 500 }).members).toBe(3);
  expect(play({ replicas: 50, quotaAt, seconds: 540 }).members).toBe(50);
});

test("one that is let through at a time does not make it try hundreds for it", () => {
  const { tries } = play({ replicas: 1000, quotaAt: (seconds) => seconds / 20, seconds: 600 });
  expect(sum(tries, 60)).toBeLessThan(300);
});

test("where nothing is refused, nothing is held up", () => {
  expect(play({ replicas: 1000, quotaAt: () => Infinity, seconds: 9 })).toEqual({
    tries: [[0, 300], [1, 300], [2, 300], [3, 100]],
    members: 1000,
  });
});

const at = (seconds: number) => later(seconds).toISOString();
const refused = { sequence: 8, replicas: 0, observedGeneration: 1 };
const batches = [{ first: 1, at: at(-40) }, { first: 5, at: at(-20) }];
const told = (seconds: number) => ({ annotations: { "agents.x-k8s.io/handed-over-at": at(seconds) } });
const cases: [string, object, object, [number, number]][] = [
  ["twice as long after the last as that was after the one before", {}, {}, [0, 10]],
  ["with a few as soon as the pool's spec is new", { observedGeneration: 0 }, {}, [16, 3]],
  ["with a few as soon as claims are said to have taken what came since", {}, told(-19), [16, 3]],
  ["too where the binder's clock is behind", {}, told(-79), [16, 3]],
  ["not for what claims took before", {}, told(-81), [0, 10]],
  ["not for what they are to take some day", {}, told(61), [0, 10]],
  [
    "at once, where the last time was by a clock that was ahead",
    { batches: [batches[0], { first: 5, at: at(7200) }] },
    {},
    [1, 3],
  ],
  [
    "all that are missing, where all had come and are gone",
    { batches: [batches[0], { ...batches[1], arrived: 4 }] },
    {},
    [30, 60],
  ],
  ["four times as many as had come of the last", { batches: [batches[0], { ...batches[1], arrived: 2 }] }, {}, [8, 3]],
  [
    "four times as many, too, where all had come of a trial",
    { batches: [batches[0], { ...batches[1], trial: true, arrived: 4 }] },
    {},
    [16, 3],
  ],
  ["with one at once, where the one before had come", { batches: [{ ...batches[0], arrived: 4 }, batches[1]] }, {}, [
    1,
    3,
  ]],
];
test.for(cases)("it tries again %s", ([, status, metadata, want]) => {
  const pool = aPool({ metadata, spec: { replicas: 30 }, status: { ...refused, batches, ...status } });
  const answer = syncPool({ pool });
  expect([newNames(answer).length, answer.resyncAfterSeconds]).toEqual(want);
});

test("what was seen of a batch stays in the status when it is gone, and at most two batches of the past do", () => {
  const pool = (status: Status) => aPool({ spec: { replicas: 4 }, status: { ...refused, ...status } });
  const seen = syncPool({
    pool: aPool({ spec: { replicas: 2 }, status: { ...refused, batches } }),
    sandboxes: [aMember(5), aMember(7)],
  }).status.batches;
  expect(seen).toEqual([batches[0], { ...batches[1], arrived: 2 }]);
  expect(syncPool({ pool: pool({ batches: seen }) }).status.batches).toEqual([
    ...seen ?? [],
    { first: 9, at: at(0) },
  ]);
  const third = [...seen ?? [], { first: 9, at: at(-9), arrived: 4 }];
  expect(syncPool({ pool: pool({ batches: third, sequence: 12 }) }).status.batches).toEqual([
    ...third.slice(1),
    { first: 13, at: at(0) },
  ]);
});
