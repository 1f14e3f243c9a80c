import { expect, onTestFinished, test, vi } from "vitest";
import { addressFor, reachabilityOf } from "../../../packages/router/index/reachability.ts";
import { readPod, readSandbox } from "../../../packages/router/index/records.ts";
import { createSandboxIndex, type SandboxIndex } from "../../../packages/router/index/sandboxindex.ts";

const owner = { apiVersion: "agents.x-k8s.io/v1beta1", kind: "Sandbox", name: "a", uid: "u1", controller: true };
const sandbox = (version: number, over = {}) =>
  readSandbox({
    metadata: { name: "a", namespace: "n", uid: "u1", resourceVersion: String(version), ...over },
    spec: {},
  })!;
const pod = (uid: string, ip: string, over = {}) =>
  readPod({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: uid, namespace: "n", uid, ownerReferences: [owner], ...over },
    status: { podIPs: [{ ip }], conditions: [{ type: "Ready", status: "True" }] },
  }, false)!;
const podsOf = (index: SandboxIndex) => [...index.find("n", "a")?.pods.values() ?? []];

test("a Pod belongs to its Sandbox, whichever is seen first", () => {
  const index = createSandboxIndex();
  index.pods.observe(pod("p1", "10.0.0.1"));
  index.sandboxes.observe(sandbox(1));
  expect(podsOf(index).map(({ metadata }) => metadata.uid)).toEqual(["p1"]);
  index.pods.observe(pod("p1", "10.0.0.2"));
  index.pods.observe(pod("p2", "10.0.0.3"));
  expect(podsOf(index).map(({ ips }) => ips)).toEqual([["10.0.0.2"], ["10.0.0.3"]]);
  index.pods.gone("p1");
  expect(podsOf(index).map(({ ips }) => ips)).toEqual([["10.0.0.3"]]);
  index.pods.listed?.(new Set());
  expect(podsOf(index)).toEqual([]);
});

test("a Pod of another namespace that names the UID is not its Pod, whichever is seen first", () => {
  for (const isFirst of [true, false]) {
    const index = createSandboxIndex();
    const strange = pod("evil", "10.6.6.6", { namespace: "evil-ns" });
    if (isFirst) index.pods.observe(strange);
    index.sandboxes.observe(sandbox(1));
    if (!isFirst) index.pods.observe(strange);
    expect(podsOf(index)).toEqual([]);
    index.pods.observe(pod("own", "10.0.0.1"));
    index.pods.gone("evil");
    expect(podsOf(index).map(({ metadata }) => metadata.uid)).toEqual(["own"]);
    expect(index.find("n", "a")?.formerIPs).toEqual([]);
  }
});

test.for([
  { ...owner, kind: "Job" },
  { ...owner, apiVersion: "example.com/v1" },
  { ...owner, controller: false },
])("a Pod of a %o is no Sandbox's, whatever UID that names", (stranger) => {
  const index = createSandboxIndex();
  index.sandboxes.observe(sandbox(1));
  index.pods.observe(pod("p1", "10.0.0.1", { ownerReferences: [stranger] }));
  expect(podsOf(index)).toEqual([]);
});

test("what others say of its use is news when it changes, by a clock that nobody sets", () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const startedAt = performance.now();
  const index = createSandboxIndex();
  const active = (at: string) => ({ annotations: { "router.agents.x-k8s.io/active-at": `${at} other` } });
  index.sandboxes.observe(sandbox(1, active("2020-01-01T00:00:00Z")));
  index.sandboxes.observe(sandbox(2, active("2020-01-01T00:00:00Z")));
  expect(index.find("n", "a")?.useChangedAt).toBeUndefined();
  vi.advanceTimersByTime(5000);
  index.sandboxes.observe(sandbox(3, active("2020-01-01T00:00:20Z")));
  index.sandboxes.observe(sandbox(4, { ...active("2020-01-01T00:00:20Z"), labels: { a: "b" } }));
  expect(index.find("n", "a")?.useChangedAt).toBe(startedAt + 5000);
});

test("a Pod from a list says neither its kind nor its version, and is read anyway", () => {
  const conditions = [{ type: "Ready", status: "True" }];
  const listed = { metadata: { name: "p", uid: "p", ownerReferences: [owner] }, status: { conditions } };
  expect(readPod(listed, false)).toMatchObject({ sandboxUID: "u1", isReady: true });
});

const unclaimed = { labels: { "agents.x-k8s.io/warm-pool-sandbox": "x" } };

test("an older version that the API server answers with changes nothing, and a name goes to the Sandbox that has it last", () => {
  const index = createSandboxIndex();
  index.sandboxes.observe(sandbox(5));
  index.answered(sandbox(4, unclaimed));
  expect(index.find("n", "a")?.sandbox.isUnclaimed).toBe(false);
  index.sandboxes.observe(sandbox(9, { uid: "u2" }));
  index.answered(sandbox(7));
  expect(index.find("n", "a")?.sandbox.metadata.uid).toBe("u2");
  index.sandboxes.gone("u1");
  expect(index.find("n", "a")?.sandbox.metadata.uid).toBe("u2");
  index.sandboxes.listed?.(new Set());
  expect(index.find("n", "a")).toBeUndefined();
});

test("an answer counts before the watch has come to it, and the watch from then on", () => {
  const index = createSandboxIndex();
  index.sandboxes.observe(sandbox(5, unclaimed));
  index.answered(sandbox(7));
  index.sandboxes.observe(sandbox(6, unclaimed));
  expect(index.find("n", "a")?.sandbox.isUnclaimed, "the watch is late").toBe(false);
  index.sandboxes.observe(sandbox(7));
  index.sandboxes.observe(sandbox(8, unclaimed));
  expect(index.find("n", "a")?.sandbox.isUnclaimed).toBe(true);
});

test("what is gone does not come back with an answer that was late, but what a list was too early for does", () => {
  const index = createSandboxIndex();
  index.sandboxes.observe(sandbox(1));
  index.sandboxes.listed?.(new Set());
  index.answered(sandbox(2));
  expect(index.find("n", "a")).toBeDefined();
  index.sandboxes.gone("u1");
  index.answered(sandbox(3));
  expect(index.find("n", "a")).toBeUndefined();
});

test("a list says nothing about what was answered since it began", () => {
  const index = createSandboxIndex();
  index.sandboxes.observe(sandbox(1, unclaimed));
  index.sandboxes.listing?.();
  index.answered(sandbox(3));
  index.answered(sandbox(4, { name: "b", uid: "u2" }));
  index.sandboxes.observe(sandbox(1, unclaimed));
  index.sandboxes.listed?.(new Set(["u1"]));
  expect(index.find("n", "a")?.sandbox.isUnclaimed).toBe(false);
  expect(index.find("n", "b")).toBeDefined();
});

/** Shows a whole list. */
function list(index: SandboxIndex, ...shown: ReturnType<typeof sandbox>[]): void {
  index.sandboxes.listing?.();
  shown.forEach((record) => index.sandboxes.observe(record));
  index.sandboxes.listed?.(new Set(shown.map(({ metadata }) => metadata.uid)));
}

test.for(
  [
    ["its versions have gone back", (index: SandboxIndex) => index.sandboxes.observe(sandbox(1_000_000, unclaimed))],
    ["and the last of them was an answer", (index: SandboxIndex) => index.answered(sandbox(1_000_000, unclaimed))],
    ["it was deleted after the backup", (index: SandboxIndex) => {
      index.sandboxes.observe(sandbox(900_000));
      index.sandboxes.gone("u1");
    }],
    ["another one of its name was made after the backup", (index: SandboxIndex) => {
      index.sandboxes.observe(sandbox(900_000));
      index.sandboxes.gone("u1");
      index.sandboxes.observe(sandbox(950_000, { uid: "u2" }));
    }],
  ] as const,
)("after a restore of etcd a Sandbox is as the list shows it: %s", ([, before]) => {
  const index = createSandboxIndex();
  before(index);
  list(index, sandbox(500_000));
  expect(index.find("n", "a")?.sandbox).toMatchObject({ isUnclaimed: false, metadata: { uid: "u1" } });
  index.answered(sandbox(500_001, unclaimed));
  expect(index.find("n", "a")?.sandbox.isUnclaimed, "versions count from there").toBe(true);
});

test("after a restore of etcd a Pod that was gone is there again, and answers about it count", () => {
  const index = createSandboxIndex();
  list(index, sandbox(900_000));
  index.pods.observe(pod("p1", "10.0.0.1"));
  index.pods.gone("p1");
  index.pods.observe(pod("p1", "10.0.0.2"));
  index.pods.listed?.(new Set(["p1"]));
  expect(podsOf(index).map(({ ips }) => ips)).toEqual([["10.0.0.2"]]);
  index.answeredPod(pod("p1", "10.0.0.3"));
  expect(podsOf(index).map(({ ips }) => ips)).toEqual([["10.0.0.3"]]);
});

test("tells of changes of a Sandbox and of its Pods, until nobody listens", () => {
  const index = createSandboxIndex();
  let calls = 0;
  const stop = index.onChange("n", "a", () => calls++);
  index.sandboxes.observe(sandbox(1));
  index.pods.observe(pod("p1", "10.0.0.1"));
  index.pods.gone("p1");
  index.sandboxes.gone("u1");
  expect(calls).toBe(4);
  stop();
  index.sandboxes.observe(sandbox(2, { uid: "u2" }));
  expect(calls).toBe(4);
});

test("addressFor() leads nowhere but to the Pod of the Sandbox", () => {
  const freed: string[] = [];
  const index = createSandboxIndex((ips) => freed.push(...ips));
  index.sandboxes.observe(sandbox(1));
  index.pods.observe(pod("p1", "10.0.0.1"));
  index.pods.gone("p1");
  index.pods.observe(pod("p2", "10.0.0.2"));
  const address = (podIP?: string) => {
    const target = { namespace: "n", name: "a", port: 1, ...(podIP === undefined ? {} : { podIP }) };
    const entry = index.find("n", "a");
    const reachability = reachabilityOf(target, entry, 0);
    return reachability.state === "reachable" ? addressFor(target, reachability, entry) : undefined;
  };
  expect(freed).toEqual(["10.0.0.1"]);
  expect(address()).toBe("10.0.0.2");
  expect(address("10.0.0.2")).toBe("10.0.0.2");
  expect(address("10.0.0.1"), "what an earlier Pod had").toBe("10.0.0.2");
  expect(address("10.0.0.9")).toMatchObject({ status: 502, detail: expect.stringContaining("X-Sandbox-Pod-IP") });
});
