/** What a test can let happen to Pods, and what their Sandboxes say of it. @module */
import { expect, test } from "vitest";
import { createTestCluster, type PodFault } from "../../packages/testing/mod.ts";
import { claim, conditionOf, pool, sandbox } from "./objects.ts";

/** A Sandbox whose Pod is merely late says so after six seconds. */
const SECONDS = 7000;

test.for<{ fault: PodFault; restartPolicy?: string; phase: string; shows: Record<string, string> }>([
  {
    fault: "unschedulable",
    phase: "Pending",
    shows: { Ready: "False DependenciesNotReady", PodScheduled: "False Unschedulable" },
  },
  {
    fault: "image",
    phase: "Pending",
    shows: { Ready: "False DependenciesNotReady", ContainersFailing: "True ImagePullFailed" },
  },
  { fault: "config", phase: "Pending", shows: { ContainersFailing: "True ContainerCreationFailed" } },
  {
    fault: "probe",
    phase: "Running",
    shows: { Ready: "False DependenciesNotReady", PodScheduled: "True PodScheduled" },
  },
  {
    fault: "crash",
    phase: "Running",
    shows: { Ready: "False DependenciesNotReady", ContainersFailing: "True ContainerCrashing" },
  },
  {
    fault: "crash",
    restartPolicy: "Never",
    phase: "Failed",
    shows: { Ready: "False PodFailed", Finished: "True PodFailed" },
  },
  {
    fault: "ends",
    restartPolicy: "Never",
    phase: "Succeeded",
    shows: { Ready: "False PodSucceeded", Finished: "True PodSucceeded" },
  },
  { fault: "fails", phase: "Failed", shows: { Ready: "False PodFailed", Finished: "True PodFailed" } },
  {
    fault: "hangs",
    phase: "Pending",
    shows: { Ready: "False DependenciesNotReady", PodScheduled: "Unknown PodSchedulingUnknown" },
  },
])(
  "a planned $fault of a Pod (restarts: $restartPolicy) shows as $shows",
  async ({ fault, restartPolicy, phase, shows }) => {
    await using cluster = await createTestCluster();
    cluster.pods.plan("box", { fault });
    await cluster.apply(sandbox("box", {}, restartPolicy ? { restartPolicy } : {}));
    await cluster.clock.advance(SECONDS);
    expect(cluster.get("Pod", "box")?.status.phase).toBe(phase);
    const box = cluster.get("Sandbox", "box");
    expect(Object.fromEntries(Object.keys(shows).map((type) => [type, conditionOf(box, type)]))).toEqual(shows);
  },
);

test("what befalls a live Pod is seen, and so is that it recovers", async () => {
  await using cluster = await createTestCluster();
  await cluster.apply(sandbox("box"));
  await cluster.clock.advance(100);
  const states = async (act: () => Promise<void>) => {
    await act();
    await cluster.settle();
    return conditionOf(cluster.get("Sandbox", "box"), "Ready");
  };
  expect(await states(() => cluster.pods.fail("box", "probe"))).toBe("False DependenciesNotReady");
  expect(await states(() => cluster.pods.recover("*"))).toBe("True DependenciesReady");
  expect(await states(() => cluster.pods.fail({ image: "busybox" }, "crash"))).toBe("False DependenciesNotReady");
  await expect(cluster.pods.fail("none", "crash")).rejects.toThrow('Cannot find a Pod "none": there is none');
  await expect(cluster.pods.fail("box", "hangs")).rejects.toThrow(RangeError);
});

test("of several plans the last one counts, and a plan can be taken back", async () => {
  await using cluster = await createTestCluster();
  cluster.pods.plan("*", { startMs: 500, readyMs: 0 });
  const takeBack = cluster.pods.plan(({ metadata }) => metadata.name === "a", { startMs: 2000 });
  await cluster.apply(sandbox("a"), sandbox("b"));
  takeBack();
  await cluster.apply(sandbox("c"));
  await cluster.clock.advance(1000);
  const ready = ["a", "b", "c"].map((name) => conditionOf(cluster.get("Sandbox", name), "Ready"));
  expect(ready).toEqual([undefined, "True DependenciesReady", "True DependenciesReady"]);
});

test("a claim on a pool whose image cannot be pulled has a Sandbox that says so", async () => {
  await using cluster = await createTestCluster();
  cluster.pods.plan({ image: "broken" }, { fault: "image", message: "no such image" });
  await cluster.apply(...pool(1, "broken"), claim("mine"));
  await cluster.clock.advance(30_000);
  const given = cluster.get("SandboxClaim", "mine")?.status.sandbox.name;
  expect(cluster.get("Sandbox", given)?.status.conditions).toContainEqual(
    expect.objectContaining({ type: "ContainersFailing", message: expect.stringContaining("no such image") }),
  );
});

test("Pods have addresses of their own and a node; volumes are bound; a Pod that is deleted takes a while to go", async () => {
  await using cluster = await createTestCluster();
  const template = { metadata: { name: "work" }, spec: { accessModes: ["ReadWriteOnce"], resources: {} } };
  await cluster.apply(sandbox("a", { volumeClaimTemplates: [template] }), sandbox("b"));
  await cluster.clock.advance(100);
  const [a, b] = cluster.objects("Pod");
  expect(a?.status.podIP).not.toBe(b?.status.podIP);
  expect(a?.spec.nodeName).toBe(cluster.objects("Node")[0]?.metadata.name);
  expect(cluster.objects("PersistentVolumeClaim").map(({ status }) => status.phase)).toEqual(["Bound"]);
  await cluster.patch("Sandbox", "a", { spec: { operatingMode: "Suspended" } });
  expect(cluster.get("Pod", "a")?.metadata.deletionTimestamp).toBeDefined();
  await cluster.clock.advance(1000);
  expect(cluster.get("Pod", "a")).toBeUndefined();
});
