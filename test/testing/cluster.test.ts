/** A cluster in memory, from the outside. @module */
import { expect, test } from "vitest";
import { createTestCluster } from "../../testing/mod.ts";

const BOX = `
apiVersion: agents.x-k8s.io/v1beta1
kind: Sandbox
metadata: { name: box }
spec:
  podTemplate:
    spec:
      containers: [{ name: main, image: busybox }]
`;

test("a Sandbox gets its Pod and becomes Ready once time has passed", async () => {
  await using cluster = await createTestCluster();
  await cluster.apply(BOX);
  expect(cluster.objects("Pod")).toHaveLength(1);
  expect(cluster.get("Sandbox", "box")?.status, "most are Ready soon, and say nothing until then").toEqual({
    observedGeneration: 1,
  });
  await cluster.clock.advance(100);
  expect(cluster.get("Sandbox", "box")?.status.conditions).toContainEqual(
    expect.objectContaining({ type: "Ready", status: "True", reason: "DependenciesReady" }),
  );
  expect(cluster.faults()).toEqual([]);
});
