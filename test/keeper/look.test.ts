import { describe, expect, test } from "vitest";
import { situationOf } from "../../packages/keeper/children.ts";
import { INTERVALS, plannedLook, requeue } from "../../packages/keeper/reconciler.ts";
import { aSandbox, NOW } from "../sandboxes.ts";

const TIME = { lastTransitionTime: "2026-11-21T11:00:00Z" };
const ANNOTATED = { annotations: { "agents.x-k8s.io/unresolved": "{}" } };
const VOLUMES = { volumeClaimTemplates: [{ metadata: { name: "home" }, spec: {} }] };

function conditions(ready: [string, string, string] | undefined, suspended?: string) {
  const [status, reason, message] = ready ?? [];
  return {
    conditions: [
      ...(ready ? [{ type: "Ready", status, reason, message, ...TIME }] : []),
      ...(suspended ? [{ type: "Suspended", status: suspended, reason: "R", message: "", ...TIME }] : []),
    ],
  };
}

const NO_POD: [string, string, string] = ["False", "DependenciesNotReady", "Pod does not exist"];
const PENDING: [string, string, string] = ["False", "DependenciesNotReady", "Pod exists with phase: Pending"];
const READY: [string, string, string] = ["True", "DependenciesReady", "Pod is Ready"];

interface Case {
  name: string;
  reason: string;
  over: Parameters<typeof aSandbox>[0];
  want: "look" | "leftover" | "none";
}

const cases: Case[] = [
  { name: "no status", reason: "the hook has not spoken", over: {}, want: "none" },
  { name: "Pod missing", reason: "somebody may hold its name", over: { status: conditions(NO_POD) }, want: "look" },
  {
    name: "Service missing",
    reason: "somebody may hold its name",
    over: { status: conditions(["False", "DependenciesNotReady", "Pod is Ready; Service does not exist"]) },
    want: "look",
  },
  { name: "Pod pending", reason: "a healthy start costs nothing", over: { status: conditions(PENDING) }, want: "none" },
  { name: "Ready", reason: "health costs nothing", over: { status: conditions(READY) }, want: "none" },
  {
    name: "Ready, annotated",
    reason: "the word has to go once it is not true",
    over: { status: conditions(READY), metadata: ANNOTATED },
    want: "look",
  },
  {
    name: "not Ready with volumes",
    reason: "the status does not name missing volumes",
    over: { status: conditions(PENDING), spec: VOLUMES },
    want: "look",
  },
  {
    name: "Ready with volumes",
    reason: "the hook says Ready only if the volumes are ours",
    over: { status: conditions(READY), spec: VOLUMES },
    want: "none",
  },
  {
    name: "ReconcilerError, annotated",
    reason: "our own word; look whether it still holds",
    over: { status: conditions(["False", "ReconcilerError", "Error seen: x"]), metadata: ANNOTATED },
    want: "look",
  },
  {
    name: "InvalidConfiguration, not annotated",
    reason: "the hook knew by itself",
    over: { status: conditions(["False", "InvalidConfiguration", "Error seen: x"]) },
    want: "none",
  },
  {
    name: "suspended",
    reason: "a foreign Pod of our name is worth a word",
    over: { spec: { operatingMode: "Suspended" }, status: conditions(["False", "SandboxSuspended", ""], "True") },
    want: "look",
  },
  {
    name: "suspending",
    reason: "our Pod is still there",
    over: { spec: { operatingMode: "Suspended" }, status: conditions(NO_POD, "False") },
    want: "none",
  },
  {
    name: "suspended, annotated",
    reason: "Suspended is False then, because of our word",
    over: {
      spec: { operatingMode: "Suspended" },
      status: conditions(["False", "SandboxSuspended", ""], "False"),
      metadata: ANNOTATED,
    },
    want: "look",
  },
  {
    name: "being deleted",
    reason: "children go with it",
    over: { status: conditions(NO_POD), metadata: { ...ANNOTATED, deletionTimestamp: "2026-11-21T11:00:00Z" } },
    want: "none",
  },
  {
    name: "expired by the clock",
    reason: "its Pod is not wanted",
    over: { status: conditions(NO_POD), spec: { shutdownTime: NOW.toISOString() } },
    want: "none",
  },
  {
    name: "expired as published",
    reason: "its Pod is not wanted",
    over: { status: conditions(["False", "SandboxExpired", "Pod does not exist"]) },
    want: "none",
  },
  {
    name: "expired, annotated",
    reason: "the word has no meaning any more",
    over: { spec: { shutdownTime: NOW.toISOString() }, metadata: ANNOTATED },
    want: "leftover",
  },
];

test.for(cases)("situationOf(): $name", ({ over, want, reason }) => {
  expect(situationOf(aSandbox(over), NOW.getTime())?.kind ?? "none", reason).toBe(want);
});

test("situationOf() changes with the generation, the mode and the status of Ready, not with its words", () => {
  const keyOf = (ready: typeof NO_POD, over: { metadata?: object; spec?: object } = {}) =>
    situationOf(aSandbox({ ...over, status: conditions(ready, "True") }), 0)?.key;
  const first = keyOf(NO_POD);
  expect(keyOf(["False", "ReconcilerError", "x does not exist"])).toBe(first);
  expect(keyOf(["Unknown", "DependenciesNotReady", "Pod does not exist"])).not.toBe(first);
  expect(keyOf(NO_POD, { metadata: { generation: 2 } })).not.toBe(first);
  expect(keyOf(NO_POD, { spec: { operatingMode: "Suspended" } })).not.toBe(first);
});

describe("plannedLook()", () => {
  const look = { key: "a", kind: "look" } as const;

  test("lets a state settle, however often it is reported", () => {
    const first = plannedLook(undefined, look, 5000, INTERVALS);
    expect(first).toEqual({ situation: "a", at: 6000, wait: 1000 });
    expect(plannedLook(first, look, 5900, INTERVALS)).toBe(first);
  });

  test("begins afresh in another situation", () => {
    const before = { situation: "a", at: 99_000, wait: 30_000 };
    expect(plannedLook(before, { key: "b", kind: "look" }, 5000, INTERVALS)).toEqual({
      situation: "b",
      at: 6000,
      wait: 1000,
    });
  });

  test("clears leftovers at once", () => {
    expect(plannedLook(undefined, { key: "c", kind: "leftover" }, 5000, INTERVALS)).toMatchObject({ at: 5000 });
    expect(plannedLook(undefined, { key: "d", kind: "look", notBefore: 9000 }, 5000, INTERVALS)).toMatchObject({
      at: 9000,
    });
    expect(plannedLook(undefined, { key: "d", kind: "look", notBefore: 1 }, 5000, INTERVALS).at).toBe(
      5000 + INTERVALS.settle,
    );
  });
});

describe("requeue()", () => {
  test.for(
    [
      ["problem", [1, 2, 4, 8, 16, 30, 30, 30, 30, 30, 30]],
      ["coming", [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]],
      ["whole", [300, 300]],
      ["nothing", [Infinity]],
    ] as const,
  )("after %s", ([outcome, want]) => {
    const waits = [];
    let now = 0;
    for (let look = { situation: "a", at: 0, wait: INTERVALS.settle }; waits.length < want.length; now = look.at) {
      look = requeue(look, outcome, now, INTERVALS);
      waits.push((look.at - now) / 1000);
    }
    expect(waits).toEqual(want);
  });

  test("shortens a long wait when a problem turns up", () => {
    expect(requeue({ situation: "a", at: 0, wait: 256_000 }, "problem", 1000, INTERVALS).at).toBe(31_000);
  });
});
