/** What the dashboard tells of a sandbox's life. @module */
import { expect, test } from "vitest";
import { timelineOf } from "../../packages/dashboard/timeline.ts";

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
    claim: { apiVersion: "v1", kind: "SandboxClaim", metadata: { name: "session", creationTimestamp: at(20) } },
    sandbox: {
      apiVersion: "v1",
      kind: "Sandbox",
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
      apiVersion: "v1",
      kind: "Pod",
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
  expect(moments.filter(({ isTrouble }) => isTrouble).map(({ what }) => what)).toEqual(["FailedMount"]);
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
  const moments = timelineOf({ sandbox: { apiVersion: "v1", kind: "Sandbox", metadata }, events: [] });
  expect(moments.map(({ what }) => what)).toEqual(["Sandbox created"]);
});

test("a Sandbox that was made for a claim is assigned to it, though it was asked for in the second before", () => {
  const annotations = { "agents.x-k8s.io/assigned-at": "2026-01-01T00:00:09.980Z" };
  const metadata = { name: "session", creationTimestamp: at(10), annotations };
  const moments = timelineOf({ sandbox: { apiVersion: "v1", kind: "Sandbox", metadata }, events: [] });
  expect(moments.map(({ what }) => what)).toEqual(["Assigned to claim", "Sandbox created"]);
});
