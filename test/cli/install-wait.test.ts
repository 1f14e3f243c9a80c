/** What a Deployment lacks. @module */
import { expect, test } from "vitest";
import { lackOf } from "../../packages/cli/install/wait.ts";

test.for([
  { why: "all are new and ready", status: [3, 2, 2, 2], lack: undefined },
  { why: "nobody has seen the change", status: [2, 2, 2, 2], lack: "n/d (0 of 2)" },
  { why: "one is not new", status: [3, 1, 2, 2], lack: "n/d (1 of 2)" },
  { why: "one is not ready", status: [3, 2, 1, 2], lack: "n/d (1 of 2)" },
  { why: "an old one is left", status: [3, 2, 2, 3], lack: "n/d (2 of 2, and 1 old)" },
])("lackOf() where $why", ({ status, lack }) => {
  const [observedGeneration = 0, updatedReplicas = 0, readyReplicas = 0, replicas = 0] = status;
  const rollout = {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { namespace: "n", name: "d", generation: 3 },
    spec: { replicas: 2 },
    status: { observedGeneration, updatedReplicas, readyReplicas, replicas },
  };
  expect(lackOf(rollout)).toBe(lack);
});

test("lackOf() where there is no status yet", () => {
  const metadata = { namespace: "n", name: "d", generation: 1 };
  expect(lackOf({ apiVersion: "apps/v1", kind: "Deployment", metadata, spec: {} })).toBe("n/d (0 of 1)");
});
