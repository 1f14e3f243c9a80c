/** Claims over several answers: what the hook's memory is for, and how long it lasts. @module */
import { expect, test } from "vitest";
import { handOvers, later, newNames, syncPool } from "../../poolcalls.ts";
import { aClaim, ago, aMember, aPool } from "../../pools.ts";

const none = aPool({ spec: { replicas: 0 } });
const young = { metadata: { creationTimestamp: ago(1) } };

test("a claim that was answered gets the same again, whoever has come before it since, and nobody else gets that", () => {
  const memories = new Map();
  const older = aClaim("older", { metadata: { creationTimestamp: ago(99) } });
  const sandboxes = [aMember(1, { age: 90 }), aMember(2, { age: 80 })];
  expect(handOvers(syncPool({ sandboxes, claims: [aClaim("c")] }, { memories }))).toEqual({ "warm-1": "c" });
  const changed = [aMember(1, { age: 90, metadata: { resourceVersion: "2" } }), aMember(2, { age: 80 })];
  const second = syncPool({ sandboxes: changed, claims: [older, aClaim("c")] }, { memories });
  expect(handOvers(second)).toEqual({ "warm-1": "c", "warm-2": "older" });
});

test("a member that was handed to a claim that is bound by now is nobody else's while it looks as it did then", () => {
  const memories = new Map();
  const sandboxes = [aMember(1, { age: 90 }), aMember(2, { age: 80 })];
  syncPool({ sandboxes, claims: [aClaim("c")] }, { memories });
  expect(handOvers(syncPool({ sandboxes, claims: [aClaim("other")] }, { memories }))).toEqual({ "warm-2": "other" });
  const written = [aMember(1, { age: 90, metadata: { resourceVersion: "2" } })];
  expect(handOvers(syncPool({ sandboxes: written, claims: [aClaim("third")] }, { memories }))).toEqual({
    "warm-1": "third",
  });
});

test("a claim whose member can be had no more gets another one", () => {
  const memories = new Map();
  syncPool({ sandboxes: [aMember(1)], claims: [aClaim("c")] }, { memories });
  const sandboxes = [aMember(1, { state: "finished" }), aMember(2)];
  expect(handOvers(syncPool({ sandboxes, claims: [aClaim("c")] }, { memories }))).toEqual({ "warm-2": "c" });
});

test("a claim that was answered with what has left the pool gets nothing for ten seconds, then another one", () => {
  const memories = new Map();
  syncPool({ sandboxes: [aMember(1)], claims: [aClaim("c")] }, { memories });
  const world = { sandboxes: [aMember(2), aMember(3), aMember(4)], claims: [aClaim("c")] };
  const settling = syncPool(world, { memories, now: later(9.9) });
  expect(handOvers(settling)).toEqual({});
  expect(settling.resyncAfterSeconds).toBe(1);
  expect(handOvers(syncPool(world, { memories, now: later(10) }))).toEqual({ "warm-2": "c" });
});

test("a claim that has lost what it names gets another one at once", () => {
  const memories = new Map();
  syncPool({ sandboxes: [aMember(1)], claims: [aClaim("c")] }, { memories });
  const unbound = aClaim("c", { metadata: { annotations: { "agents.x-k8s.io/sandbox-name": "warm-1" } } });
  const answer = syncPool({ sandboxes: [aMember(2)], claims: [unbound] }, { memories });
  expect(handOvers(answer)).toEqual({ "warm-2": "c" });
});

test("what was asked for is asked for again after a second, not in every answer, and does not hold up the pool", () => {
  const memories = new Map();
  const world = { claims: [aClaim("c")], pool: aPool({ spec: { replicas: 1 } }) };
  const first = syncPool(world, { memories });
  expect([newNames(first).cold, first.resyncAfterSeconds]).toEqual([["c"], 0.03]);
  const second = syncPool(world, { memories, now: later(0.03) });
  expect(newNames(second)).toEqual({ cold: [], members: ["warm-mwqcvpc1"] });
  expect(second.resyncAfterSeconds).toBe(1);
  expect(newNames(syncPool(world, { memories, now: later(1) })).cold).toEqual(["c"]);
});

test("fifty at most are served by one answer; the others come next", () => {
  const claims = Array.from({ length: 60 }, (_, index) => aClaim(`c-${index + 10}`));
  const memories = new Map();
  const first = syncPool({ pool: none, claims }, { memories });
  expect([newNames(first).cold.length, first.resyncAfterSeconds]).toEqual([50, 0.03]);
  expect(newNames(syncPool({ pool: none, claims }, { memories, now: later(0.03) })).cold).toHaveLength(10);
});

test("a claim that waits is looked at again within the time that it has", () => {
  const answer = syncPool({ sandboxes: [aMember(1, { state: "coming" })], claims: [aClaim("c", young)] });
  expect(answer.resyncAfterSeconds).toBe(0.2);
});
