/** How many members a pool makes, when it looks again, and that it never has more than it wants. @module */
import { expect, test } from "vitest";
import { later, newNames, syncPool } from "../../poolcalls.ts";
import { aClaim, aColdSandbox, ago, aMember, aPool, aReturned } from "../../pools.ts";

const size = (replicas: number, status?: object) => aPool({ spec: { replicas }, ...(status ? { status } : {}) });
const leaving = { metadata: { deletionTimestamp: ago(1) } };
const draining = { metadata: { labels: { "agents.x-k8s.io/draining": "stuck" } } };

const counts = [
  ["an empty pool makes what it wants", 3, [], 3, 60],
  ["a big empty pool makes thirty, and the rest soon", 40, [], 30, 0.03],
  ["one with Ready members makes three at a time: claims wait meanwhile", 9, [aMember(1)], 3, 0.03],
  ["one with members, none of them Ready, makes many", 9, [aMember(1, { state: "coming" })], 8, 60],
  ["a full pool makes none", 1, [aMember(1)], 0, 60],
  ["a pool of none makes none", 0, [], 0, 60],
  ["what is marked counts until it is gone", 2, [aMember(1, draining)], 1, 60],
  ["what is being deleted counts until it is gone", 2, [aMember(1, leaving), aMember(2, draining)], 0, 60],
  ["what has come back counts until it is gone", 2, [aReturned(1)], 1, 60],
  ["what was made for a claim does not count", 1, [aColdSandbox(aClaim("c"))], 1, 60],
  ["nor when it goes", 1, [aColdSandbox(aClaim("c"), leaving), aColdSandbox(aClaim("d"), draining)], 1, 60],
] as const;
test.for(counts)("%s", ([, replicas, sandboxes, count, again]) => {
  const world = { pool: size(replicas), sandboxes: [...sandboxes] };
  const answer = syncPool(world);
  expect([newNames(answer, world).members.length, answer.resyncAfterSeconds]).toEqual([count, again]);
});

test("without a template nothing is made", () => {
  const answer = syncPool({ template: null, pool: size(40) });
  expect(newNames(answer)).toEqual({ cold: [], members: [] });
  expect(answer.resyncAfterSeconds).toBe(60);
});

test("an answer makes a batch at most", () => {
  const answer = syncPool({ pool: size(9) }, { config: { maxBatchSize: 4 } });
  expect([newNames(answer).members.length, answer.resyncAfterSeconds]).toEqual([4, 0.03]);
});

test("an answer that serves claims does nothing else, but every half second it does all the same", () => {
  const memories = new Map();
  const at = (seconds: number, claim: string) => {
    const world = { sandboxes: [aMember(1, { age: 90 }), aMember(2)], claims: [aClaim(claim)], pool: size(9) };
    const answer = syncPool(world, { memories, now: later(seconds) });
    expect(answer.resyncAfterSeconds).toBe(0.03);
    return newNames(answer, world).members.length;
  };
  expect([at(0, "a"), at(0.4, "b"), at(0.5, "c"), at(0.9, "d"), at(1, "e")]).toEqual([0, 0, 3, 0, 3]);
});

test("while claims are served few are made, though nobody is Ready", () => {
  const memories = new Map();
  const pool = size(9);
  syncPool({ pool, claims: [aClaim("a")] }, { memories });
  const answer = syncPool({ pool, claims: [aClaim("a"), aClaim("b")] }, { memories, now: later(0.5) });
  expect(newNames(answer)).toMatchObject({ cold: ["b"], members: { length: 3 } });
});

test("a rate is a bucket that starts full and holds a second's worth; what is left comes when it has filled", () => {
  const memories = new Map();
  const config = { maxRefillRate: 2 };
  const at = (seconds: number) => {
    const answer = syncPool({ pool: size(99) }, { memories, config, now: later(seconds) });
    return [newNames(answer).members.length, answer.resyncAfterSeconds];
  };
  expect(at(0)).toEqual([2, 0.03]);
  expect(at(0)).toEqual([0, 0.5]);
  // Nothing that was asked for shows up: each look is later than the one before, until other names are tried.
  expect(at(0.5)).toEqual([1, 0.12]);
  expect(at(0.6)).toEqual([0, 0.5]);
  expect(at(60)).toEqual([2, 0.03]);
});

test("a rate below one a second still makes one at first", () => {
  const memories = new Map();
  const call = { memories, config: { maxRefillRate: 0.1 } };
  expect(newNames(syncPool({ pool: size(9) }, call)).members).toHaveLength(1);
  expect(syncPool({ pool: size(9) }, call).resyncAfterSeconds).toBe(10);
});

test("after a loss a pool waits as long as it is told to, again after each, and not for its first look", () => {
  const memories = new Map();
  const config = { replenishDelaySeconds: 5 };
  const at = (seconds: number, ...numbers: number[]) => {
    const world = { pool: size(4), sandboxes: numbers.map((number) => aMember(number)) };
    const answer = syncPool(world, { memories, config, now: later(seconds) });
    return [newNames(answer, world).members.length, answer.resyncAfterSeconds];
  };
  expect(at(0, 1, 2, 3)).toEqual([1, 60]);
  expect(at(1, 1, 2)).toEqual([0, 5]);
  expect(at(4, 1)).toEqual([0, 5]);
  expect(at(8, 1)).toEqual([0, 1]);
  expect(at(9, 1)).toEqual([3, 60]);
});

test("a view that shows nothing of what was made asks for the same again: nothing is made twice", () => {
  const memories = new Map();
  const first = newNames(syncPool({ pool: size(3) }, { memories })).members;
  for (const seconds of [0.03, 1, 29]) {
    expect(newNames(syncPool({ pool: size(3) }, { memories, now: later(seconds) })).members).toEqual(first);
  }
});

test("after half a minute in vain it asks for others: the names are taken", () => {
  const memories = new Map();
  const at = (seconds: number) => newNames(syncPool({ pool: size(2) }, { memories, now: later(seconds) })).members;
  const first = at(0);
  at(29);
  const second = at(30);
  expect(second.filter((name) => first.includes(name))).toEqual([]);
  expect([at(59), at(60).filter((name) => second.includes(name))]).toEqual([second, []]);
});

const place = (number: number, first: number, age: number) =>
  aMember(number, {
    age,
    state: "coming",
    applied: { metadata: { annotations: { "agents.x-k8s.io/pool-sequence": `${number}/${first}` } } },
  });
const flights = [
  ["one that shows proves those before it are on their way", [place(5, 3, 1)], 5, 2, 1],
  ["those that show are not counted twice", [place(5, 3, 1), place(4, 3, 1)], 5, 2, 1],
  ["a moment later they are missing", [place(5, 3, 3.001)], 5, 4, 60],
  ["of the far future says nothing", [place(5, 3, -9)], 5, 4, 60],
  [
    "of an unknown age says nothing",
    [aMember(5, { state: "coming", metadata: { creationTimestamp: undefined } })],
    5,
    4,
    60,
  ],
  ["enough on their way are enough", [place(5, 1, 1)], 5, 0, 1],
  [
    "what goes already proves it, too",
    [aMember(5, {
      ...leaving,
      age: 1,
      applied: { metadata: { annotations: { "agents.x-k8s.io/pool-sequence": "5/4" } } },
    })],
    3,
    1,
    1,
  ],
] as const;
test.for(flights)("a lagging view: %s", ([, sandboxes, replicas, count, again]) => {
  const world = { pool: size(replicas), sandboxes: [...sandboxes] };
  const answer = syncPool(world);
  expect([newNames(answer, world).members.length, answer.resyncAfterSeconds]).toEqual([count, again]);
});

test("a member that was handed over a moment ago is not on its way", () => {
  const memories = new Map();
  const made = [place(1, 1, 1), place(2, 1, 1)].map((member) => ({ ...member, status: aMember(1).status }));
  syncPool({ pool: size(2), sandboxes: made, claims: [aClaim("c")] }, { memories });
  const world = { pool: size(2), sandboxes: made.slice(1), claims: [] };
  expect(newNames(syncPool(world, { memories, now: later(0.03) }), world).members).toHaveLength(1);
});
