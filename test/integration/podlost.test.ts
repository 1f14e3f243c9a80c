/** On a real API server: a Pod that is deleted again and again, and a volume that belongs to another Sandbox. @module */
import { expect, test } from "vitest";
import { condition, type Loose, makeNamespace, sleeper, VOLUME } from "./namespace.ts";
import "./suite.ts";

test("a Pod that is deleted again and again waits longer each time, and a condition says so", async () => {
  const ns = await makeNamespace();
  await ns.apply(sleeper("demo"));
  await ns.untilReason("demo", "DependenciesReady");
  const times = (sandbox: Loose) => condition(sandbox, "PodLost")?.message.match(/^Pod has disappeared (\S+)/)?.[1];
  const isFourth = (sandbox: Loose) => Number(times(sandbox)) >= 4;
  while (!isFourth(await ns.get("sandbox", "demo"))) {
    await ns.kubectl("delete", "pod", "demo", "--grace-period=0", "--force", "--wait=false", "--ignore-not-found");
  }
  // The last one stays.
  await ns.untilReason("demo", "DependenciesReady");
});

test("a Sandbox whose claim of a volume is another's does not start, and says whose it is", async () => {
  const ns = await makeNamespace();
  const volume = (name: string) => ({
    volumeClaimTemplates: VOLUME.volumeClaimTemplates.map((one) => ({ ...one, metadata: { name } })),
  });
  await ns.apply(sleeper("b-c", volume("a")));
  await ns.untilReason("b-c", "DependenciesReady");
  await ns.apply(sleeper("c", volume("a-b")));
  const sandbox = await ns.untilReason("c", "ReconcilerError");
  expect(condition(sandbox, "Ready").message).toContain('PVC "a-b-c" is owned by Sandbox/b-c');
  expect(await ns.get("pod", "c")).toBeUndefined();
});
