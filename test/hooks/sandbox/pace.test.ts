/** How soon a Sandbox is answered: members of one pool start one after the other, and a Pod is given time to be bound. @module */
import { expect, test } from "vitest";
import { bindingDelay, sandboxHook, startSpacing } from "../../../hooks/sandbox/hook.ts";
import type { SentRequest } from "../../../packages/webhook/hook.ts";

const NONE = { "Pod.v1": {}, "Service.v1": {}, "PersistentVolumeClaim.v1": {} };
const owned = (kind: string): NonNullable<SentRequest["parent"]> => ({
  metadata: {
    namespace: "team-a",
    ownerReferences: [{ apiVersion: "v1", kind, name: "x", uid: "owner", controller: true }],
  },
});

test("members of one pool keep their distance as they start", () => {
  const spacing = startSpacing({ parent: owned("SandboxWarmPool"), children: NONE });
  expect(spacing).toEqual({ key: "team-a/owner", intervalMs: 100 });
});

test.for<[string, SentRequest]>([
  ["a member that has a Pod", { parent: owned("SandboxWarmPool"), children: { ...NONE, "Pod.v1": { x: {} } } }],
  ["a claim's Sandbox", { parent: owned("SandboxClaim"), children: NONE }],
  ["a bare Sandbox", { parent: { metadata: {} }, children: NONE }],
  ["what has no metadata", {}],
])("%s waits for nothing", ([, request]) => {
  expect(startSpacing(request)).toBeUndefined();
});

const withPods = (...pods: object[]): SentRequest => ({
  children: { ...NONE, "Pod.v1": Object.fromEntries(pods.map((pod, index) => [`p-${index}`, pod])) },
});

test("the answer waits while the Pod has no node", () => {
  expect(bindingDelay(withPods({ spec: { containers: [] } }))).toBe(5);
  expect(sandboxHook({ clusterDomain: "cluster.local" }).delayMs?.(withPods({}))).toBe(5);
});

test.for<[string, SentRequest]>([
  ["none", withPods()],
  ["one that has a node", withPods({ spec: { nodeName: "n" } })],
  ["two", withPods({}, {})],
  ["nothing that is known", {}],
])("with %s it does not", ([, request]) => {
  expect(bindingDelay(request)).toBe(0);
});
