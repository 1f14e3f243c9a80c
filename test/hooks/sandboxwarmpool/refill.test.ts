/** How many members a pool makes, when it looks again, and that it never has more than it wants. @module */
import { expect, test } from "vitest";
import { memberName } from "../../../hooks/sandboxwarmpool/sequence.ts";
import type { SandboxWarmPoolStatus } from "../../../packages/api/sandboxwarmpool.ts";
import { type Call, later, newNames, syncPool, type World } from "../../poolcalls.ts";
import { aClaim, aColdSandbox, ago, aMember, aPool, aReturned } from "../../pools.ts";

const size = (replicas: number, status?: object) => aPool({ spec: { replicas }, ...(status ? { status } : {}) });
const leaving = { metadata: { deletionTimestamp: ago(1) } };
const draining = { metadata: { labels: { "agents.x-k8s.io/draining": "stuck" } } };
const members = (...numbers: number[]) => numbers.map((number) => aMember(number));

/** How many an answer makes, and when it looks again. */
function refill(world: World, call: Call = {}) {
  const answer = syncPool(world, call);
  return [newNames(answer, world).length, answer.resyncAfterSeconds];
}

const counts = [
  ["an empty pool makes what it wants", 3, [], 3, 60],
  ["a big empty pool makes all at once", 40, [], 40, 60],
  ["one with members makes the rest at once", 9, [aMember(1)], 8, 60],
  ["a full pool makes none", 1, [aMember(1)], 0, 60],
  ["a pool of none makes none", 0, [], 0, 60],
  ["what is marked counts until it is gone", 2, [aMember(1, draining)], 1, 0.2],
  ["what is being deleted counts until it is gone", 2, [aMember(1, leaving), aMember(2, draining)], 0, 0.2],
  ["what has come back counts until it is gone", 2, [aReturned(1)], 1, 60],
  ["so does what was made for a claim", 1, [aColdSandbox(aClaim("c"))], 0, 60],
] as const;
test.for(counts)("%s", ([, replicas, sandboxes, count, again]) => {
  // What is marked goes once it is counted.
  const pool = size(replicas, again === 60 ? { sequence: sandboxes.length } : undefined);
  expect(refill({ pool, sandboxes: [...sandboxes] })).toEqual([count, again]);
});

test("without a template nothing is made", () => {
  expect(refill({ template: null, pool: size(40) })).toEqual([0, 60]);
});

test("an answer makes a batch at most, and the rest soon", () => {
  expect(refill({ pool: size(9) }, { config: { maxBatchSize: 4 } })).toEqual([4, 0.03]);
});

/** A pool that answers one time after the other: what it makes is there at once, and so is its status. */
function answering(replicas: number, config: Call["config"]) {
  let status: Partial<SandboxWarmPoolStatus> | undefined;
  let made: string[] = [];
  return (seconds: number, numbers: number[] = []) => {
    const world = { pool: size(replicas, status), sandboxes: members(...numbers) };
    const answer = syncPool(world, { now: later(seconds), ...(config ? { config } : {}) });
    ({ status } = answer);
    made = newNames(answer, world);
    return [made.length, answer.resyncAfterSeconds];
  };
}

const answered = (replicas: number, over: object = {}) => ({ observedGeneration: 1, replicas, sequence: 4, ...over });
const told = (seconds: number) => ({ annotations: { "agents.x-k8s.io/handed-over-at": later(seconds).toISOString() } });
const toldOf = (missing: string) => ({
  annotations: { ...told(-8).annotations, "agents.x-k8s.io/missing-members": missing },
});
const made = (seconds: number) => ({ batches: [{ first: 1, at: later(seconds).toISOString() }] });
const losses = [
  ["one that went a moment ago is left to the binder, for a second", answered(4), {}, [0, 1]],
  ["one that was missing before is made", answered(3), {}, [1, 60]],
  ["of two the one that was missing before is made, and the other a second later", answered(3), {}, [1, 1], [1, 2]],
  ["what the binder tells of is made", answered(4, made(-9)), told(-8), [1, 60]],
  ["what it told of before the last were made says nothing", answered(4, made(-7)), told(-8), [0, 1]],
  ["it may be the first thing that it tells", answered(4), told(-8), [1, 60]],
  ["the binder creates two of three, and tells of the other", answered(4, made(-9)), toldOf("1"), [1, 1], [1]],
  ["the binder creates all, and tells of none", answered(4, made(-9)), toldOf("0"), [0, 1], [1]],
  ["the binder creates all, but one was missing before", answered(3, made(-9)), toldOf("0"), [1, 1], [1]],
  ["the binder tells of more than are missing", answered(4, made(-9)), toldOf("9"), [1, 60]],
  ["the number that the binder tells is none", answered(4, made(-9)), toldOf("-1"), [3, 60], [1]],
  ["the number that the binder tells is no number", answered(4, made(-9)), toldOf("some"), [3, 60], [1]],
  ["another size is filled up to at once", answered(4, { observedGeneration: 0 }), {}, [1, 60]],
  ["a pool that has never answered makes all", undefined, {}, [1, 60]],
] as const;
test.for(losses)("of members that a pool has lost, %s", ([, status, metadata, want, left = [1, 2, 3]]) => {
  const pool = aPool({ metadata, spec: { replicas: 4 }, ...(status ? { status } : {}) });
  expect(refill({ pool, sandboxes: members(...left) })).toEqual(want);
});

test.for([{ maxRefillRate: 5 }, { replenishDelaySeconds: 1 }])(
  "with a limit of its own (%o) a pool makes all itself",
  (config) => {
    const status = answered(4, { lostAt: later(-5).toISOString(), replicas: 3 });
    const pool = aPool({ spec: { replicas: 5 }, status });
    expect(refill({ pool, sandboxes: members(1, 2, 3) }, { config })).toEqual([2, 60]);
    const { children } = syncPool({ pool, sandboxes: members(1, 2, 3) }, { config });
    const marks = children.map(({ metadata }) => metadata.annotations?.["agents.x-k8s.io/refill"]);
    expect(marks, "so that the binder replaces none of them").toEqual([
      ...[1, 2, 3].map(() => undefined),
      "limited",
      "limited",
    ]);
  },
);

test("a rate is a bucket that starts full and holds a second's worth; the status says when the last were made", () => {
  const config = { maxRefillRate: 2 };
  const made = (seconds: number) =>
    size(99, { batches: [{ first: 1, at: later(seconds).toISOString() }], sequence: 2 });
  const at = (pool: ReturnType<typeof aPool>, seconds: number) =>
    refill({ pool, sandboxes: members(1, 2) }, { config, now: later(seconds) });
  expect(refill({ pool: size(99) }, { config })).toEqual([2, 0.5]);
  expect(at(made(0), 0)).toEqual([0, 0.5]);
  expect(at(made(0), 0.4)).toEqual([0, 0.5]);
  expect(at(made(0), 0.5)).toEqual([1, 0.5]);
  expect(at(made(0), 60)).toEqual([2, 0.5]);
});

test("a rate below one a second still makes one at first, and the next in its time", () => {
  const at = answering(9, { maxRefillRate: 0.1 });
  expect(at(0)).toEqual([1, 10]);
  const [first] = syncPool({ pool: size(9) }).children;
  expect(first?.metadata.name).toMatch(/^warm-mwqcvpc1[0-9a-f]{5}$/);
});

test("a rate does not hold up what it allows", () => {
  expect(refill({ pool: size(2) }, { config: { maxRefillRate: 5 } })).toEqual([2, 60]);
});

test("after a loss a pool waits for the configured time, again after each, and not for its first look", () => {
  const at = answering(4, { replenishDelaySeconds: 5 });
  expect(at(0, [1, 2, 3])).toEqual([1, 60]);
  // A moment later, its members may be bound.
  expect(at(10, [1, 2, 3, 4])).toEqual([0, 0.2]);
  expect(at(10.2, [1, 2, 3, 4])).toEqual([0, 60]);
  expect(at(11, [1, 2])).toEqual([0, 5]);
  expect(at(14, [1])).toEqual([0, 5]);
  expect(at(18, [1])).toEqual([0, 1]);
  expect(at(19, [1])).toEqual([3, 60]);
});

test("when a pool lost one is in its status, and only where it waits for that", () => {
  const lost = (config: Call["config"]) =>
    syncPool({ pool: size(3, { replicas: 3 }), sandboxes: members(1) }, config ? { config } : {}).status.lostAt;
  expect([lost({ replenishDelaySeconds: 5 }), lost({})]).toEqual([later(0).toISOString(), undefined]);
});

test("a new process decides as the one before it: rate and delay are in the status", () => {
  const status = { replicas: 3, sequence: 4, lostAt: later(-2).toISOString() };
  const config = { replenishDelaySeconds: 5 };
  expect(refill({ pool: size(4, status), sandboxes: members(1, 2, 3) }, { config })).toEqual([0, 3]);
});

const place = (number: number, first: number, age: number, over: object = {}) =>
  aMember(number, {
    age,
    state: "coming",
    applied: { metadata: { annotations: { "agents.x-k8s.io/pool-sequence": `${number}/${first}` } } },
    ...over,
  });
const batch = (first: number, age: number) => ({ sequence: 5, batches: [{ first, at: later(-age).toISOString() }] });
const flights = [
  ["one that shows proves those before it are on their way", {}, [place(5, 3, 1)], 5, 2, 3],
  ["those that show are not counted twice", {}, [place(5, 3, 1), place(4, 3, 1)], 5, 2, 3],
  ["a moment later they are missing", {}, [place(5, 3, 3.001)], 5, 4, 60],
  ["of the far future says nothing", {}, [place(5, 3, -9)], 5, 4, 60],
  [
    "of an unknown age says nothing",
    {},
    [aMember(5, { state: "coming", metadata: { creationTimestamp: undefined } })],
    5,
    4,
    60,
  ],
  ["enough on their way are enough", { sequence: 5 }, [place(5, 1, 1)], 5, 0, 3],
  ["what goes already proves it, too", {}, [place(5, 4, 1, leaving)], 3, 1, 3],
  ["the status says that some were made, and none shows", batch(3, 1), [], 5, 2, 3],
  ["of the same batch one shows: it is not counted twice", batch(3, 1), [place(5, 3, 1)], 5, 2, 3],
  ["what the status says was made shows", batch(5, 1), [aMember(5)], 2, 1, 60],
  ["what was made long ago is not on its way", batch(3, 3.001), [], 5, 5, 60],
  ["a status of the far future says nothing", batch(3, -9), [], 5, 5, 60],
  ["nor does one whose batch is absurd", { ...batch(1, 1), sequence: 1001 }, [], 5, 5, 60],
] as const;
test.for(flights)("a lagging view: %s", ([, status, sandboxes, replicas, count, again]) => {
  expect(refill({ pool: size(replicas, status), sandboxes: [...sandboxes] })).toEqual([count, again]);
});

test("a view that shows nothing of what was made asks for the same again: nothing is made twice", () => {
  const first = newNames(syncPool({ pool: size(3) }));
  expect(newNames(syncPool({ pool: size(3) }))).toEqual(first);
  const stale = { pool: size(4, { sequence: 7 }), sandboxes: members(6, 7) };
  const again = [0, 1, 29].map((seconds) => newNames(syncPool(stale, { now: later(seconds) }), stale));
  const want = [memberName(stale.pool, 8), memberName(stale.pool, 9)];
  expect(again).toEqual([want, want, want]);
});

test("names that never show are not asked for again once the status knows of them: they are taken", () => {
  const config = { maxBatchSize: 2 };
  const first = syncPool({ pool: size(2) }, { config });
  const next = syncPool({ pool: size(2, first.status) }, { config, now: later(3.001) });
  expect(newNames(first).filter((name) => newNames(next).includes(name))).toEqual([]);
  expect(newNames(next)).toHaveLength(2);
});
