/** What the dashboard tells of a sandbox's life. @module */
import { expect, test } from "vitest";
import { stepsOf, timelineOf } from "../../packages/dashboard/timeline.ts";

const at = (second: number) => `2026-01-01T00:00:${String(second).padStart(2, "0")}Z`;
const condition = (type: string, second: number, status = "True") => ({
  type,
  status,
  reason: "Because",
  message: "words",
  lastTransitionTime: at(second),
});

test("timelineOf() tells of claim, Sandbox, Pod and Events in the order of their times", () => {
  const moments = timelineOf({
    claim: { metadata: { name: "session", creationTimestamp: at(20) } },
    sandbox: {
      metadata: {
        name: "p-1",
        creationTimestamp: at(1),
        annotations: {
          "agents.x-k8s.io/assigned-at": at(21),
          "router.agents.x-k8s.io/woken-at": at(30),
          "router.agents.x-k8s.io/first-active-at": at(25),
          "router.agents.x-k8s.io/active-at": `${at(31)} router-1`,
        },
      },
      status: { conditions: [condition("Ready", 22), condition("Suspended", 1, "False")] },
    },
    pod: {
      metadata: { name: "p-1", creationTimestamp: at(2) },
      status: {
        conditions: [condition("PodScheduled", 3), condition("Ready", 6), condition("ContainersReady", 6)],
        containerStatuses: [{ name: "main", state: { running: { startedAt: at(5) } } }],
      },
    },
    events: [
      { object: { kind: "Pod", name: "p-1" }, reason: "FailedMount", message: "no volume", last: at(4) },
      { object: { kind: "Pod", name: "p-1" }, reason: "Lost", message: "no time" },
    ],
  });
  expect(moments.map(({ at, what, detail }) => [Number(at.slice(17, 19)), what, detail])).toEqual([
    [1, "Sandbox created", undefined],
    [2, "Pod created", undefined],
    [3, "Pod scheduled", undefined],
    [4, "FailedMount", "no volume"],
    [5, "Container started", "main"],
    [6, "Pod ready", undefined],
    [20, "Claimed", "session"],
    [21, "Assigned to claim", undefined],
    [22, "Ready", undefined],
    [25, "First request", undefined],
    [30, "Woken", "by a request"],
    [31, "Last request", undefined],
  ]);
});

test.for([
  { name: "while the Sandbox is not Ready", ready: condition("Ready", 6, "False"), want: ["FailedMount", "BackOff"] },
  { name: "after it became Ready", ready: condition("Ready", 6), want: ["BackOff"] },
])("timelineOf() marks failures $name", ({ ready, want }) => {
  const failed = (reason: string, second: number) => event("Sandbox", "p-1", second, { reason });
  const moments = timelineOf({
    sandbox: { metadata: { name: "p-1", creationTimestamp: at(1) }, status: { conditions: [ready] } },
    events: [failed("FailedMount", 4), failed("BackOff", 9)],
  });
  expect(moments.flatMap(({ isTrouble, what }) => isTrouble ? [what] : [])).toEqual(want);
});

const event = (kind: string, name: string, second: number, more = {}) => ({
  object: { kind, name },
  reason: "Happened",
  message: `to ${kind} ${name}`,
  last: at(second),
  ...more,
});

test("Events of other objects with the same name are left out: by kind, and by UID", () => {
  const moments = timelineOf({
    claim: { metadata: { name: "x", uid: "claim-uid" } },
    sandbox: { metadata: { name: "x", uid: "sandbox-uid", creationTimestamp: at(10) } },
    pod: { metadata: { name: "x", uid: "pod-uid" } },
    events: [
      event("Deployment", "x", 11),
      event("Sandbox", "x", 12, { uid: "sandbox-before" }),
      event("Sandbox", "x", 13, { uid: "sandbox-uid" }),
      event("SandboxClaim", "x", 14, { uid: "claim-uid" }),
      event("Pod", "x", 15, { uid: "pod-uid", reason: "BackOff" }),
      event("Pod", "x", 16, { uid: "pod-before" }),
      event("Pod", "x", 5, { uid: "pod-of-another-sandbox" }),
      event("Sandbox", "y", 17),
    ],
  });
  expect(moments.slice(1).map(({ at, kind, isTrouble }) => [Number(at.slice(17, 19)), kind, isTrouble])).toEqual([
    [13, "Sandbox", undefined],
    [14, "SandboxClaim", undefined],
    [15, "Pod", true],
    [16, "earlier Pod", undefined],
  ]);
});

test("the Events of a pool are those of the pool itself", () => {
  const pool = { apiVersion: "v1", kind: "SandboxWarmPool", metadata: { name: "x", uid: "mine" } };
  const events = [event("SandboxWarmPool", "x", 1, { uid: "mine" }), event("Sandbox", "x", 2), event("Pod", "x", 3)];
  expect(timelineOf({ other: pool, events }).map(({ kind }) => kind)).toEqual(["SandboxWarmPool"]);
});

test("timelineOf() of nothing is empty", () => {
  expect(timelineOf({ events: [] })).toEqual([]);
});

test("what routers said of another sandbox, from which this one was copied, is left out", () => {
  const annotations = {
    "agents.x-k8s.io/assigned-at": at(3),
    "router.agents.x-k8s.io/woken-at": at(4),
    "router.agents.x-k8s.io/first-active-at": at(5),
    "router.agents.x-k8s.io/active-at": `${at(6)} router-1`,
  };
  const metadata = { name: "copy", creationTimestamp: at(20), annotations };
  const moments = timelineOf({ sandbox: { metadata }, events: [] });
  expect(moments.map(({ what }) => what)).toEqual(["Sandbox created"]);
});

test("a Sandbox that was made for a claim is assigned to it, though it was asked for in the second before", () => {
  const annotations = { "agents.x-k8s.io/assigned-at": "2026-01-01T00:00:09.980Z" };
  const metadata = { name: "session", creationTimestamp: at(10), annotations };
  const moments = timelineOf({ sandbox: { metadata }, events: [] });
  expect(moments.map(({ what }) => what)).toEqual(["Assigned to claim", "Sandbox created"]);
});

test("stepsOf() lists what has happened on the way to Ready, and what has not", () => {
  const done = (objects: Parameters<typeof stepsOf>[0]) => stepsOf(objects).map(({ what, isDone }) => [what, isDone]);
  const metadata = { name: "x" };
  expect(done({ claim: { metadata } })).toEqual([
    ["Sandbox assigned", false],
    ["Pod scheduled", false],
    ["Containers started", false],
    ["Pod ready", false],
    ["Ready", false],
  ]);
  const claim = { metadata, status: { sandbox: { name: "x" } } };
  const pod = {
    metadata,
    status: { conditions: [condition("PodScheduled", 1)], containerStatuses: [{ name: "main", state: {} }] },
  };
  expect(stepsOf({ claim, pod }).map(({ isDone }) => isDone)).toEqual([true, true, false, false, false]);
  const running = { metadata, status: { containerStatuses: [{ name: "main", state: { running: {} } }] } };
  const sandbox = { metadata, status: { conditions: [condition("Ready", 3)] } };
  expect(done({ sandbox, pod: running })).toEqual([
    ["Pod scheduled", true],
    ["Containers started", true],
    ["Pod ready", false],
    ["Ready", true],
  ]);
});
