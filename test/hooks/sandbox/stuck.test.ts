/** The API server refuses to change or delete a child: Ready and Suspended report it, and no other child is changed. @module */
import { expect, test } from "vitest";
import { syncSandbox } from "../../../hooks/sandbox/sync.ts";
import { findCondition } from "../../../packages/api/objects/conditions.ts";
import type { KubeObject } from "../../../packages/api/objects/objects.ts";
import { aReadyPod, aRequest, aSandbox, NOW } from "../../sandboxes.ts";

const WORDS = 'cannot delete Pod "demo": denied request: change freeze until Monday';
const problems = [{ kind: "Pod", name: "demo", state: "stuck", message: WORDS }];
const metadata = { annotations: { "agents.x-k8s.io/unresolved": JSON.stringify({ generation: 1, problems }) } };

function says(spec: object, ...pods: KubeObject[]) {
  const answer = syncSandbox(aRequest(aSandbox({ spec, metadata }), pods), NOW, { clusterDomain: "cluster.local" });
  const text = (type: string) => {
    const { reason, message } = findCondition(answer.status?.conditions, type) ?? {};
    return `${reason}: ${message}`;
  };
  return { ready: text("Ready"), suspended: text("Suspended"), again: answer.resyncAfterSeconds };
}

test("a Pod that cannot be changed makes a Sandbox that runs ReconcilerError, and it is tried again", () => {
  expect(says({}, aReadyPod())).toMatchObject({ ready: `ReconcilerError: Error seen: ${WORDS}`, again: 30 });
});

test("a Pod that cannot be deleted is not said to terminate", () => {
  expect(says({ operatingMode: "Suspended" }, aReadyPod())).toEqual({
    ready: `ReconcilerError: Error seen: ${WORDS}`,
    suspended: `PodDeletionRefused: Sandbox cannot be suspended: ${WORDS}`,
    again: 30,
  });
});

test("a Sandbox that has expired, and whose Pod cannot be deleted, says so until it can", () => {
  const shutdown = { shutdownTime: "2026-11-20T12:00:00Z", shutdownPolicy: "Retain" };
  expect(says(shutdown, aReadyPod())).toMatchObject({
    ready: `SandboxExpired: Sandbox has expired. Error seen: ${WORDS}`,
  });
  expect(says(shutdown, aReadyPod({ metadata: { deletionTimestamp: "2026-11-21T12:00:00Z" } })).ready)
    .toBe("SandboxExpired: Sandbox has expired");
});

test.for(
  [
    ["is being deleted", [aReadyPod({ metadata: { deletionTimestamp: "2026-11-21T12:00:00Z" } })], "PodTerminating"],
    ["is gone", [], "PodTerminated"],
  ] as const,
)("once it %s that is over, before the keeper has seen it", ([, pods, reason]) => {
  const said = says({ operatingMode: "Suspended" }, ...pods);
  expect(said.ready).toContain("SandboxSuspended");
  expect(said.suspended).toContain(reason);
});
