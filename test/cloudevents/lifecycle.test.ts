/** The events in the life of a Sandbox: the rules, and the event handler that applies them. @module */
import { CloudEvent as SDKEvent } from "cloudevents";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { cloudEventOf } from "../../packages/cloudevents/cloudevent.ts";
import { createLifecycle, LIFECYCLE, type LifecycleEvent } from "../../packages/cloudevents/lifecycle.ts";
import { inTrace, SPAN, TRACE } from "../collector.ts";
import { aSandbox, NOW } from "../sandboxes.ts";

/** RFC 3339, so many seconds after the clock of these tests began. */
const after = (seconds: number) => new Date(NOW.getTime() + seconds * 1000).toISOString().replace(".000Z", "Z");
const condition = (type: string, status: string, reason: string, seconds: number) => {
  return { type, status, reason, message: `it is ${reason}`, lastTransitionTime: after(seconds) };
};
const starting = (seconds: number) => [
  condition("Ready", "False", "DependenciesNotReady", seconds),
  condition("Suspended", "False", "NotSuspended", seconds),
];
const ready = (seconds: number) => [condition("Ready", "True", "DependenciesReady", seconds)];
const suspended = (seconds: number) => [
  condition("Ready", "False", "SandboxSuspended", seconds),
  condition("Suspended", "True", "PodTerminated", seconds),
];
const finished = (seconds: number) => [
  condition("Ready", "False", "PodFailed", seconds),
  condition("Finished", "True", "PodFailed", seconds),
];
const expired = (seconds: number) => [condition("Ready", "False", "SandboxExpired", seconds)];

let told: LifecycleEvent[];
let handler: ReturnType<typeof createLifecycle>;
beforeEach(() => {
  vi.useFakeTimers({ now: NOW });
  told = [];
  handler = createLifecycle((event) => told.push(event));
});
afterEach(() => vi.useRealTimers());

/** What was reported since this was asked last: what, and how many seconds after the clock began. */
const since = () => told.splice(0).map(({ what, at }) => `${what} ${(at - NOW.getTime()) / 1000}`);
const see = (conditions: object[], metadata: object = {}, spec: object = {}) =>
  handler.observe(
    aSandbox({ metadata: { creationTimestamp: after(0), ...metadata }, spec, status: { conditions } }),
  );
const claimed = (uid: string, name = "job") => ({
  ownerReferences: [{
    apiVersion: "extensions.agents.x-k8s.io/v1beta1",
    kind: "SandboxClaim",
    name,
    uid,
    controller: true,
  }],
  annotations: { "agents.x-k8s.io/assigned-at": after(7) },
});
const listNothing = () => handler.listed?.(new Set());

test("a life is reported in its order, each thing once", () => {
  listNothing();
  vi.setSystemTime(NOW.getTime() + 60_000);
  see([]);
  see(starting(1));
  expect(since()).toEqual(["created 0"]);
  see(ready(2));
  see(ready(2));
  expect(since()).toEqual(["ready 2"]);
  see(ready(2), claimed("c1"));
  expect(since()).toEqual(["bound 7"]);
  see(starting(10), claimed("c1"));
  see(ready(12), claimed("c1"));
  expect(since()).toEqual(["unready 10", "ready 12"]);
  see(suspended(20), claimed("c1"));
  see(starting(30), claimed("c1"));
  see(ready(31), claimed("c1"));
  expect(since()).toEqual(["suspended 20", "resumed 30", "ready 31"]);
  see(finished(40), claimed("c1"));
  see(expired(50), claimed("c1"));
  expect(since()).toEqual(["finished 40", "expired 50"]);
  see(expired(50), { ...claimed("c1"), deletionTimestamp: after(55) });
  expect(since()).toEqual([]);
  handler.gone("uid-demo");
  handler.gone("uid-demo");
  expect(since()).toEqual(["deleted 55"]);
});

test("what a watch has skipped is reported as far as it shows", () => {
  listNothing();
  vi.setSystemTime(NOW.getTime() + 60_000);
  see(ready(3), claimed("c1"));
  expect(since()).toEqual(["created 0", "bound 7", "ready 3"]);
  see(suspended(20), claimed("c1"));
  see(ready(30), claimed("c1"));
  expect(since()).toEqual(["suspended 20", "resumed 30", "ready 30"]);
});

describe("times", () => {
  test.for([
    ["before its creation", "1999-01-01T00:00:00Z", "bound 0"],
    ["in the future", "+010000-01-01T00:00:00Z", "bound 60"],
    ["that make no sense", "soon", "bound 0"],
  ])("%s are not believed", ([, text, want]) => {
    listNothing();
    vi.setSystemTime(NOW.getTime() + 60_000);
    see([]);
    told = [];
    see([], { ...claimed("c1"), annotations: { "agents.x-k8s.io/assigned-at": text } });
    expect(since()).toEqual([want]);
  });

  test("of an expiry is the one that was set, where Ready keeps an older one", () => {
    listNothing();
    vi.setSystemTime(NOW.getTime() + 60_000);
    see(starting(1));
    told = [];
    see(expired(1), {}, { shutdownTime: after(45) });
    expect(since()).toEqual(["expired 45"]);
  });
});

describe("a process that begins to lead", () => {
  test("tells again what the one before may not have come to, and nothing older", () => {
    vi.setSystemTime(NOW.getTime() + 700_000);
    see(ready(650), { ...claimed("c1"), uid: "old" });
    see([], { uid: "young", creationTimestamp: after(101) });
    expect(since()).toEqual(["ready 650", "created 101"]);
    handler.listed?.(new Set(["old", "young"]));
    see(suspended(5), { ...claimed("c1"), uid: "old" });
    expect(since()).toEqual(["suspended 5"]);
  });

  test("gives it the same id", () => {
    vi.setSystemTime(NOW.getTime() + 60_000);
    const ids = () => told.splice(0).map((event) => cloudEventOf(event, "/hookbox").id);
    listNothing();
    see([]);
    see([], claimed("c1"));
    see(ready(3), claimed("c1"));
    const first = ids();
    vi.setSystemTime(NOW.getTime() + 90_000);
    handler = createLifecycle((event) => told.push(event));
    see(ready(3), claimed("c1"));
    expect(ids()).toEqual(first);
    expect(new Set(first).size).toBe(3);
  });
});

test("what is gone is deleted, once", () => {
  listNothing();
  see([]);
  told = [];
  vi.setSystemTime(NOW.getTime() + 9000);
  handler.gone("uid-demo");
  expect(since()).toEqual(["deleted 9"]);
  handler.gone("uid-demo");
  expect(since()).toEqual([]);
});

test("only a claim that there can be is named", () => {
  listNothing();
  see([], claimed("c1", "x".repeat(254)));
  see([], claimed("u".repeat(65)));
  see([], claimed("u\nx-forged: 1"));
  see([], claimed("u.1"));
  see([], claimed("c1", "a b"));
  expect(told.map(({ what, sandbox }) => [what, sandbox.claim])).toEqual([["created", undefined]]);
});

describe("cloudEventOf()", () => {
  const event = (over: Partial<LifecycleEvent> = {}): LifecycleEvent => ({
    what: "ready",
    sandbox: { namespace: "team-a", name: "demo", uid: "uid-demo", claim: undefined, traceparent: undefined },
    key: after(2),
    at: NOW.getTime() + 2000,
    ...over,
  });

  test("says which Sandbox, whose, and why", () => {
    listNothing();
    see([], { ...claimed("c1"), annotations: inTrace() });
    see(ready(0), { ...claimed("c1"), annotations: inTrace() });
    expect(told.map((one) => cloudEventOf(one, "//cluster-1")).at(-1)).toEqual({
      specversion: "1.0",
      id: "uid-demo_ready_2026-11-21T12:00:00Z",
      source: "//cluster-1",
      type: "io.x-k8s.agents.sandbox.ready",
      subject: "/apis/agents.x-k8s.io/v1beta1/namespaces/team-a/sandboxes/demo",
      time: "2026-11-21T12:00:00.000Z",
      datacontenttype: "application/json",
      partitionkey: "uid-demo",
      traceparent: `00-${TRACE}-${SPAN}-01`,
      data: {
        namespace: "team-a",
        name: "demo",
        uid: "uid-demo",
        claim: { name: "job", uid: "c1" },
        reason: "DependenciesReady",
        message: "it is DependenciesReady",
      },
    });
  });

  test.for([...LIFECYCLE])("%s is an event that CloudEvents' own SDK takes", (what) => {
    const made = cloudEventOf(event({ what }), "/hookbox");
    expect(JSON.parse(JSON.stringify(new SDKEvent({ ...made })))).toEqual(made);
  });

  test("says no more than is known, and cuts what is long", () => {
    const { data } = cloudEventOf(event({ key: "", message: "é".repeat(2000) }), "/hookbox");
    expect(new TextEncoder().encode(data.message).length).toBe(1024);
    expect(Object.keys(data)).toEqual(["namespace", "name", "uid", "message"]);
    expect(cloudEventOf(event({ key: "" }), "/hookbox").id).toBe("uid-demo_ready");
  });
});
