/** Which Sandboxes a pool gives up, why, and that it takes two steps. @module */
import { expect, test } from "vitest";
import type { DrainReason } from "../../../hooks/sandboxwarmpool/drain.ts";
import { type Call, later, marks, named, newNames, syncPool, type World } from "../../poolcalls.ts";
import { aClaim, aColdSandbox, ago, aMember, aPool, aReturned } from "../../pools.ts";

const DRAINING = "agents.x-k8s.io/draining";
const old = { labels: { "agents.x-k8s.io/sandbox-template-ref-hash": "ffffffff" } };
const size = (replicas: number, type?: string) =>
  aPool({ spec: { replicas, ...(type ? { updateStrategy: { type } } : {}) } });

interface Case extends World {
  name: string;
  reason: string;
  want: Record<string, DrainReason>;
  call?: Call;
}
const cases: Case[] = [
  {
    name: "nothing of what is well",
    reason: "it is of the right size and fresh",
    sandboxes: [aMember(1), aMember(2), aMember(3, { state: "coming" })],
    want: {},
  },
  { name: "what has come back", reason: "used once", sandboxes: [aReturned(1)], want: { "warm-1": "returned" } },
  {
    name: "what was made for a claim that is gone",
    reason: "nobody will ever have it",
    sandboxes: [aColdSandbox(aClaim("c"))],
    want: { c: "claim-gone" },
  },
  {
    name: "what was made for a claim that has another one",
    reason: "it waits no more",
    sandboxes: [aColdSandbox(aClaim("c"))],
    claims: [aClaim("c", { status: { sandbox: { name: "warm-9" } } })],
    want: { c: "claim-gone" },
  },
  {
    name: "what was made for a claim of the same name before",
    reason: "another UID is another claim",
    sandboxes: [aColdSandbox(aClaim("c", { metadata: { uid: "uid-before" } }))],
    claims: [aClaim("c")],
    want: { c: "claim-gone" },
  },
  {
    name: "stale members under Recreate",
    reason: "at once, Ready or not",
    pool: size(3, "Recreate"),
    sandboxes: [aMember(1, { metadata: old }), aMember(2), aMember(3, { metadata: old, state: "coming" })],
    want: { "warm-1": "stale", "warm-3": "stale" },
  },
  {
    name: "no stale members under OnReplenish",
    reason: "they are handed out",
    pool: size(1, "OnReplenish"),
    sandboxes: [aMember(1, { metadata: old })],
    want: {},
  },
  {
    name: "no stale members under Recreate without a template",
    reason: "nobody knows what they should be like",
    pool: size(1, "Recreate"),
    template: null,
    sandboxes: [aMember(1, { metadata: old })],
    want: {},
  },
  {
    name: "a member that was not Ready in time",
    reason: "another one may be",
    sandboxes: [aMember(1, { state: "coming", age: 300 }), aMember(2, { state: "coming", age: 299 })],
    want: { "warm-1": "stuck" },
  },
  ...(["finished", "none", "unscheduled", "imagePull", "refused"] as const).map((state) => ({
    name: `a member that is ${state} past its time`,
    reason: "another one may fare better",
    sandboxes: [aMember(1, { state, age: 301 })],
    want: { "warm-1": "stuck" } as const,
  })),
  ...(["unschedulable", "gated", "invalid"] as const).map((state) => ({
    name: `no member that is ${state}, however long`,
    reason: "another one would be no better off",
    sandboxes: [aMember(1, { state, age: 9999 })],
    want: {},
  })),
  ...(["unschedulable", "gated", "invalid"] as const).map((state) => ({
    name: `a member that is ${state} past its time, once the template is another`,
    reason: "that may be the cure, and without it the pool would stay as it is for ever",
    sandboxes: [aMember(1, { state, age: 301, metadata: old }), aMember(2, { state, age: 299, metadata: old })],
    want: { "warm-1": "stuck" } as const,
  })),
  {
    name: "no unschedulable member without a template",
    reason: "nobody knows whether another one would be better off",
    template: null,
    sandboxes: [aMember(1, { state: "unschedulable", age: 9999, metadata: old })],
    want: {},
  },
  {
    name: "no Ready member for its age",
    reason: "grace is for those that are not",
    sandboxes: [aMember(1, { age: 9999 })],
    want: {},
  },
  {
    name: "no member whose age is unknown or in the future",
    reason: "it cannot be said to have had its time",
    sandboxes: [
      aMember(1, { state: "coming", metadata: { creationTimestamp: undefined } }),
      aMember(2, { state: "coming", age: -9999 }),
    ],
    want: {},
  },
  {
    name: "what is too many: the not Ready first, then the newest",
    reason: "the most useful stay",
    pool: size(2),
    sandboxes: [
      aMember(1, { age: 10 }),
      aMember(2, { age: 20 }),
      aMember(3, { age: 30 }),
      aMember(4, { state: "coming", age: 40 }),
    ],
    want: { "warm-4": "surplus", "warm-1": "surplus" },
  },
  {
    name: "the newest of those not Ready",
    reason: "the oldest is the nearest to Ready",
    pool: size(1),
    sandboxes: [aMember(1, { state: "coming", age: 10 }), aMember(2, { state: "coming", age: 20 })],
    want: { "warm-1": "surplus" },
  },
  {
    name: "all of a pool of none",
    reason: "scaled to 0",
    pool: size(0),
    sandboxes: [aMember(1), aMember(2, { state: "coming" })],
    want: { "warm-1": "surplus", "warm-2": "surplus" },
  },
  {
    name: "no more than go already",
    reason: "what is stuck makes room itself",
    pool: size(1),
    sandboxes: [aMember(1, { state: "coming", age: 301 }), aMember(2)],
    want: { "warm-1": "stuck" },
  },
  {
    name: "nothing for those that are on their way out",
    reason: "they count no more",
    pool: size(1),
    sandboxes: [
      aMember(1),
      aMember(2, { metadata: { deletionTimestamp: ago(1) } }),
      aReturned(3, {
        metadata: { labels: { [DRAINING]: "returned" } },
      }),
    ],
    want: { "warm-3": "returned" },
  },
  {
    name: "a batch at most",
    reason: "the flag says so",
    pool: size(0),
    sandboxes: [aMember(1, { age: 1 }), aMember(2, { age: 2 }), aMember(3, { age: 3 })],
    call: { config: { maxBatchSize: 2 } },
    want: { "warm-1": "surplus", "warm-2": "surplus" },
  },
  {
    name: "by a grace period of its own",
    reason: "the flag says so",
    sandboxes: [aMember(1, { state: "coming", age: 30 })],
    call: { config: { readinessGraceSeconds: 30 } },
    want: { "warm-1": "stuck" },
  },
];
test.for(cases)("a pool marks $name", ({ want, reason, call, ...world }) => {
  const answer = syncPool(world, call);
  const draining = (world.sandboxes ?? []).filter(({ metadata }) => metadata.labels?.[DRAINING] !== undefined);
  const gone = Object.fromEntries(draining.map(({ metadata }) => [metadata.name, metadata.labels?.[DRAINING]]));
  expect({ ...gone, ...marks(answer) }, reason).toEqual(want);
});

const words = {
  returned: "it was a claim's and is never used again",
  "claim-gone": "the claim that it was made for is gone",
  stale: "it is not like the template any more",
  stuck: "it was not Ready within the grace period",
  surplus: "the pool has more than it should",
  "by hand": "by hand",
};
test.for(Object.entries(words))("what is observed marked %s is deleted, and says why", ([reason, text]) => {
  const marked = aMember(1, { metadata: { labels: { [DRAINING]: reason } } });
  const answer = syncPool({ sandboxes: [marked, aMember(2)] });
  expect(answer.deletions).toEqual({ "Sandbox/warm-1": text });
  expect(named(answer, "warm-1")).toBeUndefined();
});

test("a mark is never taken back, whatever the pool wants by now", () => {
  const sandboxes = [aMember(1, { metadata: { labels: { [DRAINING]: "surplus" } } })];
  const answer = syncPool({ pool: size(9), sandboxes, claims: [aClaim("c"), aClaim("warm-1")] });
  expect(named(answer, "warm-1")).toBeUndefined();
});

test("nothing is deleted that is only marked by this answer, and a mark changes nothing else", () => {
  const sandboxes = [aMember(1), aMember(2)];
  const before = named(syncPool({ pool: size(2), sandboxes }), "warm-1");
  const answer = syncPool({ pool: size(1), sandboxes });
  expect(answer.deletions).toEqual({});
  const { metadata, ...rest } = named(answer, "warm-1") ?? { metadata: {} };
  const { [DRAINING]: _, ...labels } = (metadata as { labels: Record<string, string> }).labels;
  expect({ ...rest, metadata: { ...metadata, labels } }).toEqual(before);
});

test("what is handed over is not marked, and is no member that the pool has too many", () => {
  const world = { pool: size(1), sandboxes: [aMember(1, { age: 90 }), aMember(2)], claims: [aClaim("c")] };
  const memories = new Map();
  syncPool({ ...world, claims: [] }, { memories, now: later(-1) });
  expect(marks(syncPool(world, { memories }))).toEqual({});
});

test("what was handed over and is still seen is no surplus, nor does it make another one surplus", () => {
  const memories = new Map();
  const sandboxes = [aMember(1, { age: 90 }), aMember(2)];
  syncPool({ sandboxes, claims: [aClaim("c")] }, { memories });
  const answer = syncPool({ pool: size(1), sandboxes }, { memories, now: later(1) });
  expect([marks(answer), newNames(answer, { sandboxes })]).toEqual([{}, { cold: [], members: [] }]);
});

test("what a claim still waits for is not marked as gone, even if it has had its answer", () => {
  const world = { sandboxes: [aColdSandbox(aClaim("c"))], claims: [aClaim("c")] };
  expect(marks(syncPool(world))).toEqual({});
});

test("a pool that is being deleted leaves everything as it is", () => {
  const pool = aPool({ metadata: { deletionTimestamp: ago(1) }, spec: { replicas: 0 }, status: { replicas: 2 } });
  const sandboxes = [aMember(1), aMember(2, { state: "coming", age: 999 }), aColdSandbox(aClaim("c"))];
  const answer = syncPool({ pool, sandboxes, claims: [aClaim("c"), aClaim("d")] });
  expect(answer).toEqual({ status: { replicas: 2 }, children: expect.anything() });
  expect(answer.children.map(({ metadata }) => metadata.name).sort()).toEqual(["c", "warm-1", "warm-2"]);
  expect(marks(answer)).toEqual({});
});
