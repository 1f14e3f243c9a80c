import { expect, test } from "vitest";
import { createFakeApi } from "../../kube/fakeapi.ts";
import { until } from "../../eventually.ts";
import { fetchFrom } from "../client.ts";
import { naming, putReady, putSandbox, SANDBOXES, startRouter } from "../stage.ts";

test("requests that wait for sandboxes of one namespace leave room for those of others", async () => {
  const api = createFakeApi();
  putSandbox(api);
  api.put(`${SANDBOXES.replace("team-a", "team-b")}/demo`, {
    apiVersion: "agents.x-k8s.io/v1beta1",
    kind: "Sandbox",
    metadata: { name: "demo", namespace: "team-b", uid: "uid-b", generation: 1 },
    spec: { operatingMode: "Running" },
  });
  const { port, router } = await startRouter(api, { maxHeld: 8, holdMs: 300 });
  const inTeam = (namespace: string) =>
    fetchFrom(port, { headers: { ...naming(1), "X-Sandbox-Namespace": namespace } });
  const first = Array.from({ length: 20 }, () => inTeam("team-a"));
  await until(() => router.metrics.now.held > 0);
  const second = Array.from({ length: 2 }, () => inTeam("team-b"));
  const statuses = async (replies: Promise<{ status: number }>[]) =>
    (await Promise.all(replies)).map(({ status }) => status);
  expect((await statuses(first)).filter((status) => status === 504), "of the first namespace").toHaveLength(4);
  expect(await statuses(second)).toEqual([504, 504]);
  expect(router.metrics.now.held).toBe(0);
});

test("requests that wait for one sandbox are no more than 500: each change of it wakes them all", async () => {
  const api = createFakeApi();
  putSandbox(api);
  const { port, router } = await startRouter(api, { holdMs: 60_000 });
  const all = Array.from({ length: 510 }, () => fetchFrom(port, { headers: naming(1) }));
  let refused = 0;
  for (const reply of all) reply.then(({ status }) => refused += status === 503 ? 1 : 0);
  await until(() => refused === 10);
  expect(router.metrics.now.held).toBe(500);
  putReady(api);
  const statuses = (await Promise.all(all)).map(({ status }) => status);
  expect(statuses.filter((status) => status === 503)).toHaveLength(10);
  expect(router.metrics.now.held).toBe(0);
});
