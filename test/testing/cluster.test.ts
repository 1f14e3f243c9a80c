/** A cluster in memory, from the outside. @module */
import { expect, test } from "vitest";
import { DEFAULT_SETTINGS, makeHooks } from "../../hooks/all.ts";
import { createTestCluster } from "../../packages/testing/mod.ts";
import { claim, conditionOf, pool, sandbox } from "./objects.ts";

test("a Sandbox gets its Pod, and becomes Ready once time has passed", async () => {
  await using cluster = await createTestCluster();
  await cluster.apply(sandbox("box"));
  expect(cluster.objects("Pod")).toHaveLength(1);
  expect(cluster.get("Sandbox", "box")?.status, "most are Ready soon, and say nothing until then").toEqual({
    observedGeneration: 1,
  });
  await cluster.clock.advance(100);
  expect(conditionOf(cluster.get("Sandbox", "box"), "Ready")).toBe("True DependenciesReady");
  expect(cluster.faults()).toEqual([]);
});

test("apply takes YAML, creates what is new and merges into what exists", async () => {
  await using cluster = await createTestCluster({ namespaces: ["team", "other"] });
  const yaml = `
apiVersion: v1
kind: ConfigMap
metadata: { name: a }
data: { x: "1" }
---
apiVersion: v1
kind: ConfigMap
metadata: { name: a, namespace: other }
`;
  const [first, second] = await cluster.apply(yaml);
  expect([first?.metadata.namespace, second?.metadata.namespace]).toEqual(["team", "other"]);
  await cluster.apply({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" }, data: { y: "2" } });
  expect(cluster.get("ConfigMap", "a")).toMatchObject({ data: { x: "1", y: "2" } });
  expect(cluster.objects("ConfigMap", "other")).toHaveLength(1);
  await expect(cluster.apply(sandbox("Box_1"))).rejects.toThrow(/^Cannot apply Sandbox Box_1: .*is invalid/);
  await expect(cluster.apply({ apiVersion: "v1", kind: "Thing", metadata: { name: "a" } })).rejects.toThrow(
    'Cannot find kind "v1 Thing": it is not served',
  );
  await expect(cluster.apply("a: [")).rejects.toThrow(SyntaxError);
});

test("until() lets time pass until an object is as awaited, and says what it was if it never is", async () => {
  await using cluster = await createTestCluster({ pods: { startMs: 5000 } });
  await cluster.apply(sandbox("box"));
  const before = cluster.clock.now();
  await cluster.until("Sandbox", "box", (box) => box?.status.podIPs?.length === 1);
  expect(cluster.clock.now() - before).toBe(5000);
  await expect(cluster.until("Sandbox", "none", (object) => object !== undefined, 2000)).rejects.toThrow(
    "Cannot see Sandbox none as awaited within 2000 ms: there is none",
  );
  await cluster.delete("Sandbox", "box");
  expect(await cluster.until("Pod", "box", (pod) => pod === undefined)).toBeUndefined();
});

test("the keeper goes by the cluster's clock: expiry, and what it says of what is missing", async () => {
  await using cluster = await createTestCluster();
  const shutdownTime = new Date(cluster.clock.now() + 3_600_000).toISOString();
  await cluster.apply(sandbox("box", { shutdownTime, shutdownPolicy: "Delete" }), claim("mine"));
  await cluster.clock.advance(3_590_000);
  expect(conditionOf(cluster.get("Sandbox", "box"), "Ready")).toBe("True DependenciesReady");
  expect(conditionOf(cluster.get("SandboxClaim", "mine"), "Ready")).toBe("False WarmPoolNotFound");
  await cluster.clock.advance(11_000);
  expect(cluster.get("Sandbox", "box")).toBeUndefined();
  await cluster.apply(...pool(1));
  await cluster.until("SandboxClaim", "mine", (found) => conditionOf(found, "Ready") === "True DependenciesReady");
  expect(cluster.faults()).toEqual([]);
});

test("history() shows every status that an object had, with its time", async () => {
  await using cluster = await createTestCluster({ pods: { startMs: 8000, readyMs: 1000 } });
  await cluster.apply(sandbox("box"));
  await cluster.clock.advance(10_000);
  const history = cluster.history("Sandbox", "box");
  const start = cluster.clock.now() - 10_000;
  expect(history.map(({ at, status }) => [at - start, conditionOf({ status }, "Ready")])).toEqual([
    [0, undefined],
    [6000, "False DependenciesNotReady"],
    [8000, "False DependenciesNotReady"],
    [9000, "True DependenciesReady"],
  ]);
  expect(cluster.history("Sandbox", "none")).toEqual([]);
});

test("a hook of one's own takes the place of ours; its errors are reported, and change nothing", async () => {
  const [ours] = makeHooks(["sandbox"], DEFAULT_SETTINGS);
  if (!ours) throw new Error("Cannot find the hook");
  let isBroken = true;
  const sync: typeof ours.sync = (...call) => {
    if (isBroken) throw new Error("out of order");
    return ours.sync(...call);
  };
  await using cluster = await createTestCluster({ hooks: { sandbox: () => ({ ...ours, sync }) } });
  await cluster.apply(sandbox("box"));
  await cluster.clock.advance(1000);
  expect(cluster.objects("Pod")).toEqual([]);
  expect(cluster.faults()).toContain("sandbox failed: out of order");
  isBroken = false;
  await cluster.until("Sandbox", "box", (box) => conditionOf(box, "Ready") === "True DependenciesReady");
});

test("two clusters know nothing of each other, and one that has stopped does nothing more", async () => {
  const [one, other] = [await createTestCluster(), await createTestCluster()];
  await one.apply(sandbox("box"));
  expect(other.objects("Sandbox")).toEqual([]);
  await one.stop();
  await one.clock.advance(1000);
  expect(conditionOf(one.get("Sandbox", "box"), "Ready")).toBeUndefined();
  await other.stop();
});
