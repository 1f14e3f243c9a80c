import { describe, expect, test } from "vitest";
import { readPod, readSandbox } from "../../../packages/router/index/records.ts";
import { createSandboxIndex } from "../../../packages/router/index/sandboxindex.ts";
import { reachabilityOf } from "../../../packages/router/index/reachability.ts";
import { aReadyPod, aSandbox } from "../../sandboxes.ts";

const NOW = 1_000_000;
const TARGET = { namespace: "team-a", name: "demo", port: 80 };
const OWNER = {
  apiVersion: "agents.x-k8s.io/v1beta1",
  kind: "Sandbox",
  name: "demo",
  uid: "uid-demo",
  controller: true,
};
const aPod = (over: { metadata?: object; status?: object; spec?: object } = {}) =>
  aReadyPod({ ...over, metadata: { ownerReferences: [OWNER], ...over.metadata } });
const condition = (type: string, status: string, reason: string, message: string, observedGeneration = 1) => ({
  type,
  status,
  reason,
  message,
  observedGeneration,
  lastTransitionTime: "2026-11-21T12:00:00Z",
});
const suspended = { operatingMode: "Suspended" };
const notReady = { conditions: [{ type: "PodScheduled", status: "True" }, { type: "Ready", status: "False" }] };

function reachability(sandbox: object | undefined, pods: object[], target = {}, now = NOW) {
  const index = createSandboxIndex();
  const record = readSandbox(sandbox);
  if (record) index.sandboxes.observe(record);
  for (const pod of pods) {
    const read = readPod(pod, false);
    if (read) index.pods.observe(read);
  }
  return reachabilityOf({ ...TARGET, ...target }, index.find("team-a", "demo"), now);
}

describe("reachabilityOf()", () => {
  test("reaches a Sandbox whose Pod is Ready", () => {
    expect(reachability(aSandbox(), [aPod()])).toMatchObject({ state: "reachable", ip: "10.1.0.7" });
  });

  test.for<[string, object | undefined, object[], object, string]>([
    ["unknown", undefined, [], {}, "it does not exist"],
    ["another UID", aSandbox(), [aPod()], { uid: "other" }, "it has another UID"],
    [
      "unclaimed",
      aSandbox({ metadata: { labels: { "agents.x-k8s.io/warm-pool-sandbox": "x" } } }),
      [aPod()],
      {},
      "claim",
    ],
    ["deleted", aSandbox({ metadata: { deletionTimestamp: "2026-11-21T12:00:00Z" } }), [aPod()], {}, "being deleted"],
  ])("answers 404 for one that is %s", ([, sandbox, pods, target, cause]) => {
    const found = reachability(sandbox, pods, target);
    expect(found).toMatchObject({ state: "refused", refusal: { status: 404 } });
    expect(JSON.stringify(found)).toContain(cause);
  });

  test.for<[string, object, object[], string]>([
    ["expired", aSandbox({ spec: { shutdownTime: "1970-01-01T00:16:40Z" } }), [aPod()], "expired"],
    [
      "suspended and invalid",
      aSandbox({
        spec: suspended,
        status: { conditions: [condition("Ready", "False", "InvalidConfiguration", "no")] },
      }),
      [],
      "no",
    ],
    ["of two minds", aSandbox(), [aPod(), aPod({ metadata: { uid: "second", name: "b" } })], "2 Pods"],
    ["on the node's network", aSandbox(), [aPod({ spec: { hostNetwork: true } })], "network of its node"],
    [
      "at an address of the node",
      aSandbox(),
      [aPod({ status: { podIPs: [{ ip: "127.0.0.1" }] } })],
      "not one that a Pod",
    ],
    [
      "finished",
      aSandbox({ status: { conditions: [condition("Ready", "False", "PodFailed", "Pod failed")] } }),
      [aPod({ status: notReady })],
      "Pod failed",
    ],
  ])("answers 502 with the cause for one that is %s", ([, sandbox, pods, cause]) => {
    const found = reachability(sandbox, pods);
    expect(found).toMatchObject({ state: "refused", refusal: { status: 502 }, mayLag: false });
    expect(JSON.stringify(found)).toContain(cause);
  });

  test("a suspended one is suspended, whatever Pod is still there", () => {
    const old = [condition("Ready", "False", "SandboxSuspended", "")];
    expect(reachability(aSandbox({ spec: suspended, status: { conditions: old } }), [aPod()])).toEqual({
      state: "suspended",
    });
  });

  test.for<[string, object[], string, string]>([
    ["without a Pod", [], "resuming", "its Pod is not Ready"],
    ["old Pod", [aPod({ metadata: { deletionTimestamp: "x" } })], "resuming", "former Pod"],
    ["unscheduled", [aPod({ status: { conditions: [] } })], "scheduling", "not Ready"],
    ["not Ready", [aPod({ status: notReady })], "starting", "not Ready"],
    ["no address", [aPod({ status: { podIPs: [] } })], "starting", "not Ready"],
    [
      "pool's label",
      [aPod({ metadata: { labels: { "agents.x-k8s.io/warm-pool-sandbox": "x" } } })],
      "handing over",
      "pool",
    ],
    ["foreign Pod", [aPod({ metadata: { ownerReferences: [] } })], "resuming", "not Ready"],
  ])("waits where there is hope: %s", ([, pods, phase, cause]) => {
    const found = reachability(aSandbox(), pods);
    expect(found).toMatchObject({ state: "starting", phase, cause: expect.stringContaining(cause) });
  });

  test("a delivery does not wait for the labels of the Pod, as the claim is not Ready without it", () => {
    const pod = aPod({ metadata: { labels: { "agents.x-k8s.io/warm-pool-sandbox": "x" } } });
    expect(reachability(aSandbox(), [pod], { isDelivery: true })).toMatchObject({ state: "reachable", ip: "10.1.0.7" });
  });

  test("trusts a Pod from before a resume only once it is Ready for the new generation", () => {
    const index = createSandboxIndex();
    const observe = (generation: number, spec: object, readyFor: number) => {
      const metadata = { generation, resourceVersion: String(generation) };
      const conditions = [condition("Ready", "True", "DependenciesReady", "", readyFor)];
      index.sandboxes.observe(readSandbox(aSandbox({ metadata, spec, status: { conditions } }))!);
      return reachabilityOf(TARGET, index.find("team-a", "demo"), NOW).state;
    };
    index.pods.observe(readPod(aPod(), false)!);
    expect(observe(1, {}, 1)).toBe("reachable");
    expect(observe(2, suspended, 1)).toBe("suspended");
    expect(observe(3, {}, 1)).toBe("starting");
    expect(observe(4, {}, 4), "its controller has kept it").toBe("reachable");
  });

  test("believes no condition of an earlier generation", () => {
    const conditions = [condition("Ready", "False", "InvalidConfiguration", "no", 1)];
    const sandbox = aSandbox({ metadata: { generation: 2 }, status: { conditions } });
    expect(reachability(sandbox, [])).toMatchObject({ state: "starting" });
  });

  test("gives up on failing containers, but not at once", () => {
    const conditions = [condition("ContainersFailing", "True", "ImagePullFailed", "no such image")];
    const sandbox = aSandbox({ status: { conditions } });
    const failing = (later: number) => reachability(sandbox, [aPod({ status: notReady })], {}, Date.now() + later);
    expect(failing(0)).toMatchObject({ state: "starting", cause: "no such image" });
    expect(failing(60_000)).toMatchObject({
      state: "refused",
      refusal: { detail: expect.stringContaining("no such image") },
    });
  });
});
