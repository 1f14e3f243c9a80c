/** Which Sandboxes' first Pods are asked for one after the other: those that a pool makes. @module */
import { expect, test } from "vitest";
import { startSpacing } from "../../../hooks/sandbox/hook.ts";
import type { SentRequest } from "../../../packages/webhook/hook.ts";

const NONE = { "Pod.v1": {}, "Service.v1": {}, "PersistentVolumeClaim.v1": {} };
const owned = (kind: string): NonNullable<SentRequest["parent"]> => ({
  metadata: { ownerReferences: [{ apiVersion: "v1", kind, name: "x", uid: "owner", controller: true }] },
});

test("members of one pool keep their distance as they start", () => {
  const spacing = startSpacing({ parent: owned("SandboxWarmPool"), children: NONE });
  expect(spacing).toEqual({ key: "owner", intervalMs: 100 });
});

test.for<[string, SentRequest]>([
  ["a member that has a Pod", { parent: owned("SandboxWarmPool"), children: { ...NONE, "Pod.v1": { x: {} } } }],
  ["a claim's Sandbox", { parent: owned("SandboxClaim"), children: NONE }],
  ["a bare Sandbox", { parent: { metadata: {} }, children: NONE }],
  ["what has no metadata", {}],
])("%s waits for nothing", ([, request]) => {
  expect(startSpacing(request)).toBeUndefined();
});
