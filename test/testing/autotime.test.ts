/** Time that moves by itself while somebody waits. @module */
import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { pathOf } from "../../packages/kube/api.ts";
import { createTestCluster, type TestCluster } from "../../packages/testing/mod.ts";
import { conditionOf, sandbox } from "./objects.ts";

const path = pathOf({ resource: "sandboxes", namespace: "default" });

/** As a client waits: one watch, until the object is as wanted. */
async function awaitReady({ api }: TestCluster, name: string): Promise<void> {
  const { events } = await api.watch(path, { fieldSelector: `metadata.name=${name}` });
  for await (const { object } of events) if (conditionOf(object, "Ready")?.startsWith("True")) return;
}

test("what a client waits for comes at once, and no more time passes than it takes", async () => {
  await using cluster = await createTestCluster({ time: "auto", pods: { startMs: 50_000, readyMs: 0 } });
  const before = cluster.clock.now();
  expect(Math.abs(Date.now() - before), "it begins with the present").toBeLessThan(60_000);
  await cluster.api.send({ method: "POST", path, body: sandbox("box") });
  await awaitReady(cluster, "box");
  const after = cluster.clock.now();
  expect(after - before).toBe(50_000);
  for (let i = 0; i < 20; i++) await setImmediate();
  expect(cluster.clock.now(), "nobody waits").toBe(after);
});

test("what never comes takes no more time than the limit", async () => {
  await using cluster = await createTestCluster({ time: "auto", autoLimitMs: 90_000 });
  const before = cluster.clock.now();
  cluster.pods.plan("*", { fault: "image" });
  await cluster.api.send({ method: "POST", path, body: sandbox("box") });
  const waiting = awaitReady(cluster, "box");
  await cluster.until("Sandbox", "box", (box) => conditionOf(box, "ContainersFailing") === "True ImagePullFailed");
  for (let last = -1; last !== cluster.clock.now();) {
    last = cluster.clock.now();
    for (let i = 0; i < 50; i++) await setImmediate();
  }
  expect(cluster.clock.now() - before).toBeLessThanOrEqual(90_000);
  cluster.endWatches();
  await waiting;
});

test("fake time stands still, no matter what waits", async () => {
  await using cluster = await createTestCluster();
  await cluster.api.send({ method: "POST", path, body: sandbox("box") });
  const waiting = awaitReady(cluster, "box");
  const before = cluster.clock.now();
  for (let i = 0; i < 20; i++) await setImmediate();
  expect(cluster.clock.now()).toBe(before);
  await cluster.clock.advance(100);
  await waiting;
});
