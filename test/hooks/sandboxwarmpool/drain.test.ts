/** Which Sandboxes a pool gives up, why, and that it takes two steps. @module */
import { expect, test } from "vitest";
import type { DrainReason } from "../../../hooks/sandboxwarmpool/deletionreasons.ts";
import { applyUpdate } from "../../../packages/api/objects/apply.ts";
import { type Call, marks, named, syncPool, type World } from "../../poolcalls.ts";
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
    name: "what was made for a claim before there was a binder",
    reason: "nobody hands it over any more",
    sandboxes: [aColdSandbox(aClaim("c"))],
    want: { c: "returned" },
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
    name: "what was not made here and is unlike the template",
    reason: "anybody may have put the pool's labels on it",
    pool: size(3, "OnReplenish"),
    sandboxes: [
      aMember(1, {
        applied: null,
        spec: { podTemplate: { spec: { containers: [{ name: "main", image: "evil/image" }] } } },
      }),
      aMember(2, { applied: null }),
      aMember(3, { metadata: old }),
    ],
    want: { "warm-1": "stale" },
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
  stale: "it is not like the template any more",
  stuck: "it was not Ready within the grace period",
  surplus: "the pool has more than it should",
  "by hand": "it is marked as draining",
  constructor: "it is marked as draining",
};
test.for(Object.entries(words))("what is observed marked %s is deleted, and says why", ([reason, text]) => {
  const marked = aMember(1, { metadata: { labels: { [DRAINING]: reason } } });
  const answer = syncPool({ pool: aPool({ status: { sequence: 2 } }), sandboxes: [marked, aMember(2)] });
  expect(answer.deletions).toEqual({ "Sandbox/warm-1": text });
  expect(named(answer, "warm-1")).toBeUndefined();
});

test("a mark is never taken back, whatever the pool wants by now", () => {
  const sandboxes = [aMember(1, { metadata: { labels: { [DRAINING]: "surplus" } } })];
  const pool = aPool({ spec: { replicas: 9 }, status: { sequence: 1 } });
  expect(named(syncPool({ pool, sandboxes }), "warm-1")).toBeUndefined();
});

const ANOTHERS = { metadata: { annotations: { "agents.x-k8s.io/pool-sequence": undefined } } };
test.for<{ name: string; status?: object; number?: number; applied?: object; goes: boolean }>([
  { name: "there is no status yet", number: 1, goes: false },
  { name: "the status counts on from a lower number", status: { sequence: 6 }, goes: false },
  { name: "the status counts on from its number", status: { sequence: 7 }, goes: true },
  { name: "the status counts on from a higher number", status: { sequence: 8 }, goes: true },
  { name: "it has no number: its name is no member's", applied: ANOTHERS, goes: true },
])("what is marked goes only when its name will not be used again: $name", ({ status, number = 7, applied, goes }) => {
  const mark = { metadata: { labels: { [DRAINING]: "stuck" } } };
  const marked = aMember(number, applied ? { ...mark, applied } : { applied: mark });
  const pool = aPool({ ...(status ? { status } : {}) });
  const answer = syncPool({ pool, sandboxes: [marked] });
  const { name } = marked.metadata;
  expect(Object.keys(answer.deletions ?? {})).toEqual(goes ? [`Sandbox/${name}`] : []);
  const desired = named(answer, name);
  expect(desired && applyUpdate(marked, desired)).toEqual(goes ? undefined : marked);
  expect(answer.resyncAfterSeconds).toBe(goes ? 60 : 0.2);
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

test("a pool that is being deleted leaves everything as it is", () => {
  const pool = aPool({ metadata: { deletionTimestamp: ago(1) }, spec: { replicas: 0 }, status: { replicas: 2 } });
  const sandboxes = [aMember(1), aMember(2, { state: "coming", age: 999 }), aColdSandbox(aClaim("c"))];
  const answer = syncPool({ pool, sandboxes });
  expect(answer).toEqual({ status: { replicas: 2 }, children: expect.anything() });
  expect(answer.children.map(({ metadata }) => metadata.name).sort()).toEqual(["c", "warm-1", "warm-2"]);
  expect(marks(answer)).toEqual({});
});
