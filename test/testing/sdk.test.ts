/** The SDK on a cluster in memory, unchanged. @module */
import { expect, test } from "vitest";
import { SandboxClient } from "../../packages/sdk/client.ts";
import { createTestCluster } from "../../packages/testing/mod.ts";
import { pool } from "./objects.ts";

async function start() {
  const cluster = await createTestCluster({ time: "auto" });
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
