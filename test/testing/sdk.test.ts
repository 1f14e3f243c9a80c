/** The SDK on a cluster in memory, unchanged. @module */
import { expect, test } from "vitest";
import { SandboxClient } from "../../sdk/client.ts";
import { createTestCluster, type TestClusterOptions } from "../../testing/mod.ts";
import { pool } from "./objects.ts";

async function start(options: TestClusterOptions = {}) {
  const cluster = await createTestCluster({ time: "auto", ...options });
  return { cluster, client: new SandboxClient({ api: cluster.api }), [Symbol.asyncDispose]: cluster.stop };
}

test("a sandbox comes from a warm pool, is found, suspended, woken and killed", async () => {
  await using world = await start();
  const { cluster, client } = world;
  await cluster.apply(...pool(2));
  await cluster.until("SandboxWarmPool", "shells", (found) => found?.status?.readyReplicas === 2);
  const warm = cluster.objects("Sandbox").map(({ metadata }) => metadata.name);
  const sandbox = await client.create({ pool: "shells", name: "mine" });
  const given = cluster.get("SandboxClaim", "mine")?.status.sandbox.name;
  expect(warm).toContain(given);
  const names = [];
  for await (const { name } of client.list()) names.push(name);
  expect(names).toEqual(["mine"]);
  await client.suspend("mine");
  expect(cluster.get("Pod", given)).toBeUndefined();
  await client.connect("mine");
  expect(cluster.get("Pod", given)).toBeDefined();
  expect(sandbox.name).toBe("mine");
  expect(await client.kill("mine")).toBe(true);
  await cluster.clock.advance(1000);
  expect(cluster.objects("SandboxClaim")).toEqual([]);
  expect(cluster.faults()).toEqual([]);
});

test("a watch that breaks while a client waits is taken up again", async () => {
  let watches = 0;
  await using world = await start({ fault: ({ method }) => (watches += method === "WATCH" ? 1 : 0, undefined) });
  const { cluster, client } = world;
  cluster.pods.plan("box", { fault: "probe" });
  const creating = client.create({ image: "busybox", name: "box" });
  await cluster.until("Sandbox", "box", (box) => box?.status.podIPs?.length === 1);
  const before = watches;
  cluster.endWatches(new Error("connection reset"));
  await cluster.pods.recover("box");
  await creating;
  expect(watches).toBeGreaterThan(before);
});

test("a claim that names no pool is told so at once", async () => {
  await using world = await start();
  await expect(world.client.create({ pool: "none" })).rejects.toMatchObject({ reason: "WarmPoolNotFound" });
});
