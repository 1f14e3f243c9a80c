/** @module */
import { expect, test } from "vitest";
import { later, marks, syncPool } from "../../poolcalls.ts";
import { aClaim, aColdSandbox, aMember, aPool } from "../../pools.ts";

const looks = [
  ["nothing to come: a minute", [aMember(1)], 60],
  ["the end of a member's grace", [aMember(1, { state: "coming", age: 290 })], 10],
  ["the nearest of two", [aMember(1, { state: "coming", age: 290 }), aMember(2, { state: "coming", age: 270 })], 10],
  ["grace that ended goes on for nobody", [aMember(1, { state: "unschedulable", age: 999 })], 60],
  ["one that is held has none", [aMember(1, { state: "unschedulable", age: 290 })], 60],
  ["an unknown age", [aMember(1, { state: "coming", metadata: { creationTimestamp: undefined } })], 60],
  ["the far future", [aMember(1, { state: "coming", age: -1e9 })], 60],
] as const;
test.for(looks)("the next look: %s", ([, sandboxes, seconds]) => {
  const pool = aPool({ spec: { replicas: sandboxes.length } });
  expect(syncPool({ pool, sandboxes: [...sandboxes] }).resyncAfterSeconds).toBe(seconds);
});

test("the next look, while what was given away still shows: a second, as long as the pool remembers", () => {
  const none = aPool({ spec: { replicas: 0 } });
  for (const sandbox of [aMember(1), aColdSandbox(aClaim("c"))]) {
    const memories = new Map();
    syncPool({ pool: none, sandboxes: [sandbox], claims: [aClaim("c")] }, { memories });
    const look = (seconds: number) =>
      syncPool({ pool: none, sandboxes: [sandbox] }, { memories, now: later(seconds) }).resyncAfterSeconds;
    expect([look(0.03), look(9.9), look(10)]).toEqual([1, 1, 60]);
  }
});

test("the next look is twice as late each time that nothing comes of an answer, a second at most, and soon again then", () => {
  const memories = new Map();
  const claims = [aClaim("c"), aClaim("d")];
  const look = (...sandboxes: ReturnType<typeof aMember>[]) =>
    syncPool({ pool: aPool({ spec: { replicas: 2 } }), claims, sandboxes }, { memories }).resyncAfterSeconds;
  const both = [aMember(1), aMember(2)];
  expect(Array.from({ length: 7 }, () => look(...both))).toEqual([0.03, 0.06, 0.12, 0.24, 0.48, 0.96, 0.96]);
  expect(look(aMember(2))).toBe(0.03);
});

test("the next look after making a Sandbox for a claim is soon, members or not", () => {
  const memories = new Map();
  const pool = aPool({ spec: { replicas: 0 } });
  syncPool({ pool }, { memories, now: later(-1) });
  expect(syncPool({ pool, claims: [aClaim("c")] }, { memories }).resyncAfterSeconds).toBe(0.03);
});

test("the next look for a claim that cannot be served for want of a template: a minute, and the pool does not count as serving", () => {
  const claims = [aClaim("c", { spec: { env: [{ name: "A", value: "1" }] } })];
  const answer = syncPool({ template: null, pool: aPool({ spec: { replicas: 0 } }), sandboxes: [aMember(1)], claims });
  expect([answer.resyncAfterSeconds, marks(answer)]).toEqual([60, { "warm-1": "surplus" }]);
});

test("the next look is never at once: what is left of a moment is the shortest wait", () => {
  const sandboxes = [aMember(1, { state: "coming", age: 299 })];
  const pool = aPool({ spec: { replicas: 1 } });
  expect(syncPool({ pool, sandboxes }, { now: later(0.999) }).resyncAfterSeconds).toBe(0.03);
});
