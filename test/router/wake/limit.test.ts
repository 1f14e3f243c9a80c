import { expect, test } from "vitest";
import { createFakeApi } from "../../kube/fakeapi.ts";
import { until, untilThere } from "../../eventually.ts";
import { fetchFrom } from "../client.ts";
import { naming, putReady, putSandbox, SANDBOXES, startBackend, startRouter } from "../stage.ts";

test("requests that wait for sandboxes of one namespace leave room for those of others", async () => {
  const api = createFakeApi();
  putSandbox(api);
  api.put(`${SANDBOXES.replace("team-a", "team-b")}/demo`, {
    apiVersion: "agents.x-k8s.io/v1beta1",
    kind: "Sandbox",
    metadata: { name: "demo", namespace: "team-b", uid: "uid-b", generation: 1 },
    spec: { operatingMode: "Running" },
  });
  const { port, router } = await startRouter(api, { maxHeldRequests: 8, wakeTimeout: 60_000 });
  const refused: string[] = [];
  const ask = (namespace: string) =>
    fetchFrom(port, { headers: { ...naming(1), "X-Sandbox-Namespace": namespace } })
      .then(({ status }) => status === 503 && refused.push(namespace))
      // What is still held goes with the router.
      .catch(() => {});
  for (let i = 0; i < 20; i++) void ask("team-a");
  await untilThere(16, () => refused);
  expect(router.metrics.now.held).toBe(4);
  for (let i = 0; i < 2; i++) void ask("team-b");
  await until(() => router.metrics.now.held === 6);
  expect(refused).toEqual(Array(16).fill("team-a"));
});

test("requests that wait for one sandbox are no more than 500: each change of it wakes them all", async () => {
  const api = createFakeApi();
  putSandbox(api);
  const { port, router } = await startRouter(api, { wakeTimeout: 60_000 });
  const backend = await startBackend((_, answer) => answer.end());
  const all = Array.from({ length: 510 }, () => fetchFrom(port, { headers: naming(backend.port) }));
  let refused = 0;
  for (const reply of all) reply.then(({ status }) => refused += status === 503 ? 1 : 0);
  await until(() => refused >= 10);
  expect(router.metrics.now.held).toBe(500);
  putReady(api);
  const statuses = (await Promise.all(all)).map(({ status }) => status);
  expect(statuses.filter((status) => status === 503)).toHaveLength(10);
  expect(router.metrics.now.held).toBe(0);
});
