/**
 * A Sandbox does not start before it owns its volumes: its Pod could mount another Sandbox's volume. Nor while one of them
 * is being deleted: its Pod could wait for a volume that goes. @module
 */
import { expect, test } from "vitest";
import { syncSandbox } from "../../../hooks/sandbox/sync.ts";
import { findCondition } from "../../../packages/api/objects/conditions.ts";
import { aChild, aRequest, aSandbox, NOW } from "../../sandboxes.ts";

const spec = {
  volumeClaimTemplates: [{ metadata: { name: "a" }, spec: {} }, { metadata: { name: "b" }, spec: {} }],
};
const claim = (name: string) => aChild("PersistentVolumeClaim", { metadata: { name, uid: name } });
const sync = (metadata: object, ...claims: string[]) =>
  syncSandbox(aRequest(aSandbox({ spec, metadata }), claims.map(claim)), NOW, { clusterDomain: "cluster.local" });
const hasPod = (...claims: string[]) => sync({}, ...claims).children.some(({ kind }) => kind === "Pod");

test("its Pod waits until all its claims are among its children", () => {
  expect([hasPod(), hasPod("a-demo"), hasPod("b-demo", "c-demo"), hasPod("a-demo", "b-demo")]).toEqual([
    ...[false, false, false, true],
  ]);
});

test("where another's has the name, the Sandbox says so, and is not started", () => {
  const message = 'PVC "a-demo" is owned by Sandbox/other (UID: u), not by sandbox "demo"';
  const problems = [{ kind: "PersistentVolumeClaim", name: "a-demo", state: "taken", message }];
  const annotations = { "agents.x-k8s.io/unresolved": JSON.stringify({ generation: 1, problems }) };
  const { status, children } = sync({ annotations }, "b-demo");
  expect(children.map(({ metadata }) => metadata.name)).toEqual(["a-demo", "b-demo"]);
  expect(findCondition(status?.conditions, "Ready")).toMatchObject({
    ...{ status: "False", reason: "ReconcilerError", message: `Error seen: ${message}` },
  });
});

test("while one of its claims is being deleted it is not started, and says so; a Pod that runs goes on", () => {
  const claims = [
    claim("b-demo"),
    aChild("PersistentVolumeClaim", {
      metadata: { name: "a-demo", uid: "a", deletionTimestamp: "2026-11-21T11:00:00Z" },
    }),
  ];
  const sandbox = aSandbox({ spec });
  const { status, children } = syncSandbox(aRequest(sandbox, claims), NOW, { clusterDomain: "cluster.local" });
  expect(children.map(({ metadata }) => metadata.name)).toEqual(["a-demo", "b-demo"]);
  expect(findCondition(status?.conditions, "Ready")).toMatchObject({
    ...{ status: "False", reason: "DependenciesNotReady" },
    message: 'Pod does not exist; PVC "a-demo" is being deleted',
  });
  const pod = aChild("Pod", { metadata: { name: "demo", uid: "p" } });
  const running = syncSandbox(aRequest(sandbox, [...claims, pod]), NOW, { clusterDomain: "cluster.local" });
  expect(running.children.map(({ kind }) => kind)).toContain("Pod");
});
