/** What a pool's status may say of what it makes: as much as the answer makes, and what was there. @module */
import { describe, expect, test } from "vitest";
import { sandboxWarmPoolHook } from "../../../hooks/sandboxwarmpool/hook.ts";
import { syncSandboxWarmPool } from "../../../hooks/sandboxwarmpool/sync.ts";
import { DEFAULT_SETTINGS } from "../../../hooks/all.ts";
import type { SandboxWarmPoolStatus } from "../../../packages/api/sandboxwarmpool.ts";
import type { Desired } from "../../../packages/webhook/metacontroller.ts";
import { aPoolRequest, type World } from "../../poolcalls.ts";
import { ago, aMember, aPool } from "../../pools.ts";
import { NOW } from "../../sandboxes.ts";

const settings = DEFAULT_SETTINGS;
const NOW_TEXT = "2026-11-21T12:00:00.000Z";
type Status = SandboxWarmPoolStatus;
type Answer = Desired<Status>;

/** Calls the hook, whose answer is changed on its way to the guard: `passes`, or the field for which it is refused. */
function say(world: World, change: (answer: Answer) => Partial<Answer> = () => ({}), given: object = {}): string {
  const hook = sandboxWarmPoolHook({ ...settings, ...given }, (...call) => {
    const desired = syncSandboxWarmPool(...call);
    return { ...desired, ...change(desired) };
  });
  const outcome = hook.sync(aPoolRequest(world), NOW);
  if (!("refusal" in outcome)) return "passes";
  return /^status\.(\w+) would be what nothing/.exec(outcome.refusal.message)?.[1] ?? outcome.refusal.message;
}
const saying = (fields: (status: Status) => Partial<Status>) => ({ status }: Answer) => ({
  status: { ...status, ...fields(status) },
});

const old = { first: 1, at: ago(60), trial: true, arrived: 1 };
const last = { first: 3, at: ago(30), arrived: 1 };
const batches = [old, { first: 2, at: ago(45), arrived: 1 }, last];
const members = [aMember(1), aMember(2), aMember(3)];
/** A full pool, which makes nothing. */
const full: World = {
  pool: aPool({ status: { sequence: 3, arrivedSequence: 3, observedSequence: 3, replicas: 3, batches } }),
  sandboxes: members,
};
/** A pool of nine that makes six more. */
const growing: World = {
  pool: aPool({
    spec: { replicas: 9 },
    status: { sequence: 3, arrivedSequence: 3, observedSequence: 3, replicas: 3, batches },
  }),
  sandboxes: members,
};

describe("a pool that makes nothing", () => {
  test.for<[string, (status: Status) => Partial<Status>, string]>([
    ["what it is", () => ({}), "passes"],
    ["a count that has grown", () => ({ sequence: 4 }), "sequence"],
    ["no count", () => ({ sequence: undefined }), "sequence"],
    ["no batches", () => ({ batches: undefined }), "batches"],
    ["batches that are no list", () => ({ batches: {} as never }), "batches"],
    ["what is no batch", () => ({ batches: [...batches, null as never] }), "batches"],
    ["without the oldest", ({ batches = [] }) => ({ batches: batches.slice(1) }), "batches"],
    ["a batch more", ({ batches = [] }) => ({ batches: [...batches, { first: 4, at: NOW_TEXT }] }), "batches"],
    ["them the other way round", ({ batches = [] }) => ({ batches: batches.toReversed() }), "batches"],
    [
      "them at another time",
      ({ batches = [] }) => ({ batches: batches.map((b) => ({ ...b, at: NOW_TEXT })) }),
      "batches",
    ],
    ["that none was a trial", ({ batches = [] }) => ({ batches: batches.map(({ trial: _, ...b }) => b) }), "batches"],
    ["that fewer have come", ({ batches = [] }) => ({ batches: batches.map(({ arrived: _, ...b }) => b) }), "batches"],
    ["that more have come", ({ batches = [] }) => ({ batches: batches.map((b) => ({ ...b, arrived: 9 })) }), "batches"],
    ["a field of its own", ({ batches = [] }) => ({ batches: batches.map((b) => ({ ...b, more: 1 })) }), "batches"],
    ["that a member was lost", () => ({ lostAt: NOW_TEXT }), "lostAt"],
  ])("says %s: %s", ([, change, want]) => expect(say(full, saying(change))).toBe(want));
});

describe("a pool that makes six", () => {
  const newest = { first: 4, at: NOW_TEXT };
  test.for<[string, (status: Status) => Partial<Status>, string]>([
    ["as many", () => ({}), "passes"],
    ["fewer", () => ({ sequence: 8 }), "sequence"],
    ["more", () => ({ sequence: 10 }), "sequence"],
    ["as many as before", () => ({ sequence: 3 }), "sequence"],
    ["no new batch", () => ({ batches }), "batches"],
    ["two of them", ({ batches = [] }) => ({ batches: [...batches, newest] }), "batches"],
    ["them as later numbers", () => ({ batches: [...batches, { ...newest, first: 5 }] }), "batches"],
    ["them as asked for in the future", () => ({ batches: [...batches, { ...newest, at: ago(-60) }] }), "batches"],
    ["that they have come", () => ({ batches: [...batches, { ...newest, arrived: 6 } as typeof newest] }), "batches"],
    ["no trial at all", () => ({ batches: [...batches, { ...newest, trial: 0 as never }] }), "batches"],
  ])("says %s: %s", ([, change, want]) => expect(say(growing, saying(change))).toBe(want));

  test("says so only if it makes them", () => {
    const made = ({ children }: Answer) => ({ children: children.slice(0, 3) });
    expect(say(growing, made)).toBe("sequence");
    const none = ({ children, status }: Answer) => ({
      children: children.slice(0, 3),
      status: { ...status, sequence: 3 },
    });
    expect(say(growing, none)).toBe("batches");
  });
});

test("old batches go with a new one, but neither recent ones nor the last two", () => {
  const at = (seconds: number) =>
    aPool({
      spec: { replicas: 9 },
      status: {
        sequence: 3,
        replicas: 3,
        batches: [old, { first: 2, at: ago(seconds) }, last, { first: 4, at: ago(20) }],
      },
    });
  for (const [seconds, without] of [[2, 1], [60, 2]] as const) {
    const world = { pool: at(seconds), sandboxes: members };
    const kept = (count: number) => saying(({ batches = [] }) => ({ batches: batches.slice(-count - 1) }));
    expect(say(world), `${seconds} s`).toBe("passes");
    expect(say(world, kept(4 - without)), `${seconds} s`).toBe("passes");
    expect(say(world, kept(3 - without)), `${seconds} s`).toBe("batches");
  }
});

test.for<[string, object]>([
  ["no batches, of an earlier build or of another controller", { sequence: 3, replicas: 3 }],
  ["nothing at all", {}],
  ["batches in the future, since a clock was put back", {
    sequence: 3,
    batches: [{ first: 1, at: "2036-01-01T00:00:00Z" }],
  }],
  ["batches at no time", { sequence: 3, batches: [{ first: 1, at: "" }, { first: 2, at: "2026-11-21T12:00:60Z" }] }],
  ["one batch twice", { sequence: 3, batches: [last, last, last] }],
  ["batches that count down", { sequence: 3, batches: [{ first: 9, at: ago(9) }, { first: 2, at: ago(60) }] }],
  ["300 batches", { sequence: 300, batches: Array.from({ length: 300 }, (_, n) => ({ first: n, at: ago(n) })) }],
  ["more of a batch than there are", { sequence: 3, batches: [{ first: 1, at: ago(9), arrived: 99 }] }],
  ["a field of a later build", { sequence: 3, batches: [{ first: 1, at: ago(9), more: true }] }],
  ["a count that no pool reaches", { sequence: 2 ** 52 + 2, batches: [last] }],
  ["a loss in the future", { sequence: 3, replicas: 3, lostAt: "2036-01-01T00:00:00Z" }],
  ["a loss at no time", { sequence: 3, replicas: 3, lostAt: "then" }],
])("a good hook is not refused where the status has %s", ([, status]) => {
  for (const replicas of [0, 2, 3, 9]) {
    for (const count of [0, 2, 3]) {
      for (const given of [{}, { replenishDelaySeconds: 5 }, { maxRefillRate: 100 }]) {
        const sandboxes = members.slice(0, count);
        expect(say({ pool: aPool({ spec: { replicas }, status }), sandboxes }, undefined, given)).toBe("passes");
        const metadata = { deletionTimestamp: ago(1) };
        expect(say({ pool: aPool({ metadata, status }), sandboxes }, undefined, given), "deleted").toBe("passes");
      }
    }
  }
});

test("a loss is one of now, and only where members are missing", () => {
  const pool = aPool({ status: { sequence: 3, replicas: 3, lostAt: ago(60) } });
  const given = { replenishDelaySeconds: 5 };
  const lost = (lostAt: string) => saying(() => ({ lostAt }));
  expect(say({ pool, sandboxes: members.slice(1) }, undefined, given)).toBe("passes");
  expect(say({ pool, sandboxes: members.slice(1) }, lost(ago(-5)), given), "in the future").toBe("lostAt");
  expect(say({ pool, sandboxes: members }, undefined, given)).toBe("passes");
  expect(say({ pool, sandboxes: members }, lost(NOW_TEXT), given), "nothing is missing").toBe("lostAt");
});

test("no wait of a good pool is shorter than the guard allows", () => {
  const pool = aPool({
    spec: { replicas: 9 },
    status: { sequence: 3, replicas: 3, batches: [{ first: 3, at: NOW_TEXT }] },
  });
  expect(say({ pool, sandboxes: members }, undefined, { maxRefillRate: 1000 })).toBe("passes");
  // Its grace period ends in 0.1 ms.
  const creationTimestamp = new Date(NOW.getTime() - 300_000 + 1).toISOString();
  const starting = aMember(1, { state: "starting", metadata: { creationTimestamp } });
  expect(say({ pool: aPool({ status: { sequence: 3 } }), sandboxes: [starting] })).toBe("passes");
});
