/**
 * A claim that asks for resources, on a cluster: the API server says whether a Pod can be resized, and this test is the
 * kubelet of simulated nodes. @module
 */
import { expect, test } from "vitest";
import { condition, type Loose, makeNamespace, type Namespace, ON_SIMULATED_NODES } from "./namespace.ts";
import { aClaim, aPool, aTemplate, untilFull, untilReady } from "./pools.ts";
import { hasRealNode } from "./suite.ts";

const BOUNDS = { "agents.x-k8s.io/claim-resources": "cpu=50m..4,memory=32Mi..1Gi" };
const SMALL = { limits: { cpu: "100m", memory: "64Mi" }, requests: { cpu: "50m", memory: "64Mi" } };
const LARGE = { limits: { cpu: "1", memory: "128Mi" }, requests: { cpu: "500m", memory: "128Mi" } };
const asking = (text: string) => ({ annotations: { "agents.x-k8s.io/resources": text } });

async function makePool(ns: Namespace, replicas: number, podSpec: Loose = ON_SIMULATED_NODES): Promise<void> {
  const template = aTemplate("sized", { networkPolicyManagement: "Unmanaged" }, podSpec);
  template.metadata.annotations = BOUNDS;
  template.spec.podTemplate.spec.containers[0].resources = SMALL;
  await ns.apply(template, aPool("sized", replicas));
  await untilFull(ns, "sized");
}

/** Reports of a Pod what a kubelet reports, or what it does not do. */
async function report(ns: Namespace, pod: string, resources: object, conditions: object[] = []): Promise<void> {
  const { status } = await ns.get("pod", pod) as Loose;
  const [container] = status.containerStatuses;
  const body = {
    status: {
      containerStatuses: [{ ...container, resources }],
      conditions: [...status.conditions, ...conditions],
    },
  };
  await ns.patch("pod", pod, body, "--subresource=status");
}

const members = async (ns: Namespace) => (await ns.list("sandbox")).map(({ metadata }: Loose) => metadata.name);
const resourcesOf = async (ns: Namespace, pod: string) =>
  (await ns.get("pod", pod) as Loose).spec.containers[0].resources;
const isResized = (resources: object) => (pod: Loose) =>
  JSON.stringify(pod?.spec.containers[0].resources) === JSON.stringify(resources);

test("a member is resized in place: the claim is Ready when its kubelet reports it, and a resumed Pod has it, too", async () => {
  const ns = await makeNamespace();
  await makePool(ns, 1);
  const [member] = await members(ns);
  await report(ns, member, SMALL);
  const { metadata: before } = await ns.get("pod", member) as Loose;
  await ns.apply(aClaim("c", "sized", {}, asking("cpu=1,memory=128Mi")));
  await ns.until("pod", member, isResized(LARGE));
  expect(condition(await ns.get("sandboxclaim", "c") as Loose, "Ready")).toBeUndefined();
  await report(ns, member, LARGE);
  const claim = await untilReady(ns, "c");
  expect([claim.status.sandbox.name, condition(claim, "ResizedInPlace")]).toMatchObject([member, {
    status: "True",
    reason: "Resized",
    message: "A pool member was resized while it ran: cpu=1, memory=128Mi",
  }]);
  // The hooks agree: the Pod is the same one, it belongs to the claim, and it is not older than its spec.
  const pod = await ns.until("pod", member, ({ metadata }) => metadata.labels["agents.x-k8s.io/claim-uid"]);
  expect(pod.metadata.uid).toBe(before.uid);
  expect(await resourcesOf(ns, member)).toEqual(LARGE);
  expect(condition(await ns.get("sandbox", member) as Loose, "PodOutdated")).toBeUndefined();

  await ns.patch("sandbox", member, { spec: { operatingMode: "Suspended" } });
  await ns.until("pod", member, (it) => it === undefined);
  await ns.patch("sandbox", member, { spec: { operatingMode: "Running" } });
  await ns.until("pod", member, isResized(LARGE));
  const again = await untilReady(ns, "c");
  expect(condition(again, "ResizedInPlace")?.reason).toBe("Resized");
  expect(condition(await ns.get("sandbox", member) as Loose, "PodOutdated")).toBeUndefined();
});

test("a node without room: its member goes, and the claim gets a new Sandbox with these resources", async () => {
  const ns = await makeNamespace();
  await makePool(ns, 1);
  const [member] = await members(ns);
  await report(ns, member, SMALL);
  await ns.apply(aClaim("c", "sized", {}, asking("cpu=1")));
  await ns.until("pod", member, (pod) => pod?.spec.containers[0].resources.limits.cpu === "1");
  const message = "Node didn't have enough resource: cpu";
  await report(ns, member, SMALL, [{ type: "PodResizePending", status: "True", reason: "Infeasible", message }]);
  const claim = await untilReady(ns, "c");
  expect([claim.status.sandbox.name, condition(claim, "ResizedInPlace")]).toMatchObject(["c", {
    status: "False",
    reason: "ColdStart",
    message: expect.stringContaining(`Infeasible: ${message}`),
  }]);
  expect((await resourcesOf(ns, "c")).limits).toEqual({ cpu: "1", memory: "64Mi" });
  await ns.until("sandbox", member, (it) => it === undefined);
});

test("a quota that would be exceeded, and a kubelet that does not know resizes: no member is used", async () => {
  const ns = await makeNamespace();
  await makePool(ns, 1);
  const [member] = await members(ns);
  await ns.apply(aClaim("old", "sized", {}, asking("cpu=200m")));
  const old = await untilReady(ns, "old");
  expect(condition(old, "ResizedInPlace")?.message).toContain("without support for resize");
  await report(ns, member, SMALL);
  const quota = {
    apiVersion: "v1",
    kind: "ResourceQuota",
    metadata: { name: "q" },
    spec: { hard: { "limits.cpu": "1" } },
  };
  await ns.apply(quota);
  await ns.until("resourcequota", "q", ({ status }) => status?.used?.["limits.cpu"] === "300m");
  await ns.apply(aClaim("greedy", "sized", {}, asking("cpu=2")));
  const made = await ns.until("sandbox", "greedy", (it) => it !== undefined);
  expect(made.metadata.annotations["agents.x-k8s.io/not-resized"]).toContain("exceeded quota");
  expect((await ns.get("sandbox", member) as Loose).metadata.annotations).not.toHaveProperty("agents.x-k8s.io/resized");
  expect(await resourcesOf(ns, member)).toEqual(SMALL);
});

test("a claim that asks for too much, or for something else, gets nothing", async () => {
  const ns = await makeNamespace();
  await makePool(ns, 1);
  const texts = ["cpu=5", "cpu=-1", "cpu=1e99", `memory=${"9".repeat(1000)}`, "nvidia.com/gpu=1"];
  await ns.apply(...texts.map((text, index) => aClaim(`c${index}`, "sized", {}, asking(text))));
  for (const index of texts.keys()) await untilReady(ns, `c${index}`, "InvalidConfiguration");
  expect(await members(ns)).toHaveLength(1);
});

test.runIf(hasRealNode)("a node that refuses resizes keeps its member, and the claim starts cold", async () => {
  const ns = await makeNamespace();
  await makePool(ns, 1, {});
  const [member] = await members(ns);
  await ns.apply(aClaim("c", "sized", {}, asking("cpu=1")));
  const claim = await untilReady(ns, "c");
  expect([claim.status.sandbox.name, condition(claim, "ResizedInPlace")?.message]).toEqual(
    ["c", expect.stringContaining("cannot resize a Pod in place")],
  );
  expect((await resourcesOf(ns, "c")).limits.cpu).toBe("1");
  expect(await ns.get("sandbox", member)).toBeDefined();
});
