/** @module */
import { expect, test } from "vitest";
import { combine } from "../../../../dev/bench/report/rows.ts";
import type { Result } from "../../../../dev/bench/result.ts";
import { aRequest, aResult, frozen } from "./results.ts";

/** `count` objects, all asked for at once and Ready after `ms`. */
function ready(count: number, ms: number): Pick<Result, "asked" | "samples"> {
  return { asked: count, samples: Array.from({ length: count }, () => ({ at: 0, ms })) };
}

function rowOf(...rounds: Partial<Result>[]) {
  const [row, ...others] = combine(frozen(rounds.map((changes, index) => aResult({ round: index + 1, ...changes }))));
  expect(others).toEqual([]);
  return row;
}

test("combine() makes a row for each shape, size and implementation, in the order in which they first came", () => {
  const rows = combine(frozen([
    aResult({ shape: "b" }),
    aResult({ shape: "b", implementation: "against" }),
    aResult({ shape: "b", implementation: "against", round: 2 }),
    aResult({ shape: "a", implementation: "against", parameters: { count: 2, replicas: 30 } }),
    aResult({ shape: "b", round: 2 }),
    aResult({ shape: "a", parameters: { count: 2, replicas: 100 } }),
    aResult({ shape: "a", parameters: { count: 2, replicas: 30 } }),
  ]));
  expect(rows.map(({ shape, size, implementation, rounds }) => [shape, size, implementation, rounds])).toEqual([
    ["b", "", "this", 2],
    ["b", "", "against", 2],
    ["a", "replicas 30", "this", 1],
    ["a", "replicas 30", "against", 1],
    ["a", "replicas 100", "this", 1],
  ]);
});

test("combine() names a size by all that varies, and by what only some have", () => {
  const rows = combine([
    aResult({ parameters: { count: 2, replicas: 10, perSecond: 5 } }),
    aResult({ parameters: { count: 2, replicas: 20, clients: 16 } }),
  ]);
  expect(rows.map(({ size }) => size)).toEqual([
    "replicas 10, perSecond 5, clients –",
    "replicas 20, perSecond –, clients 16",
  ]);
});

test("combine() takes percentiles of all rounds together, not of their percentiles", () => {
  expect(rowOf(ready(1, 10), ready(9, 1000))).toMatchObject({ asked: 10, ready: 10, p50: 1000, max: 1000 });
});

test.for<{ name: string; rounds: Partial<Result>[]; want: number | undefined; reason: string }>([
  { name: "three rounds", rounds: [ready(10, 1000), ready(90, 1000), ready(20, 1000)], want: 20, reason: "the middle" },
  {
    name: "a round without any Ready",
    rounds: [ready(10, 1000), { asked: 10, samples: [] }, { asked: 10, samples: [] }],
    want: 0,
    reason: "a round that failed must not flatter",
  },
  { name: "no Ready at all", rounds: [{ samples: [] }], want: undefined, reason: "there is no rate to tell" },
])("combine() takes the median of objects per second: $name", ({ rounds, want, reason }) => {
  expect(rowOf(...rounds)?.perSecond, reason).toBe(want);
});

test("combine() takes the median of each figure, of the rounds that have it", () => {
  const rounds = [{ a: 1, b: 7 }, { a: 5 }, { a: 4 }].map((figures) => ({ figures }));
  expect(rowOf(...rounds)?.figures).toEqual({ a: 4, b: 7 });
});

test("combine() counts requests per object asked for, over codes and rounds, most first", () => {
  const row = rowOf(
    { asked: 10, requests: [aRequest({ count: 5 }), aRequest({ code: 409, count: 3 }), aRequest({ verb: "get" })] },
    { asked: 10, requests: [aRequest({ count: 4 }), aRequest({ client: "keeper", count: 20 })] },
  );
  expect(row?.requests).toEqual([
    { client: "keeper", verb: "patch", resource: "sandboxes", perObject: 1 },
    { client: "engine", verb: "patch", resource: "sandboxes", perObject: 0.6 },
    { client: "engine", verb: "get", resource: "sandboxes", perObject: 0.1 },
  ]);
});

test("combine() keeps requests apart whose client is not known", () => {
  const { client: _, ...unknown } = aRequest();
  expect(rowOf({ requests: [unknown, aRequest()] })?.requests).toEqual([
    { verb: "patch", resource: "sandboxes", perObject: 1 },
    { client: "engine", verb: "patch", resource: "sandboxes", perObject: 1 },
  ]);
});

test("combine() adds up processes of one name, takes means over rounds, and of peaks the most", () => {
  const use = (cpuSeconds: number, rssMiB: number, peakMiB: number) => ({
    name: "engine",
    cpuSeconds,
    rssMiB,
    peakMiB,
  });
  const row = rowOf({ asked: 10, processes: [use(1, 10, 30), use(2, 20, 30)] }, {
    asked: 10,
    processes: [use(5, 70, 80)],
  });
  expect(row?.processes).toEqual([{ name: "engine", cpuSeconds: 4, cpuMsPerObject: 400, rssMiB: 50, peakMiB: 80 }]);
});

test("combine() takes means over calls for what a call of a hook costs", () => {
  const use = (calls: number, requestBytes: number) => ({
    hook: "sandbox/sync",
    calls,
    requestBytes,
    responseBytes: 500,
    seconds: 0.1,
  });
  const idle = { hook: "sandbox/customize", calls: 0, requestBytes: 0, responseBytes: 0, seconds: 0 };
  const row = rowOf({ asked: 10, hooks: [use(1, 1000), idle] }, { asked: 10, hooks: [use(9, 19_000), idle] });
  expect(row?.hooks).toEqual([
    { hook: "sandbox/customize", callsPerObject: 0, requestKBPerCall: 0, responseKBPerCall: 0, msPerCall: 0 },
    { hook: "sandbox/sync", callsPerObject: 0.5, requestKBPerCall: 2, responseKBPerCall: 0.1, msPerCall: 20 },
  ]);
});

test("combine() keeps every violation, in order of rounds, and names the round where there are several", () => {
  expect(rowOf({ violations: ["x", "y"] })?.violations).toEqual(["x", "y"]);
  const row = rowOf({ round: 2, violations: ["late"] }, { round: 1, violations: ["early"] });
  expect(row?.violations).toEqual(["round 1: early", "round 2: late"]);
});

test("combine() makes nothing of nothing", () => {
  expect(combine([])).toEqual([]);
});
