/** How soon a claim is answered: while it is being bound, its call waits for the writes that belong together. @module */
import { expect, test } from "vitest";
import { bindingDelay, sandboxClaimHook } from "../../../hooks/sandboxclaim/hook.ts";
import type { SentRequest } from "../../../packages/webhook/hook.ts";

const SANDBOXES = "Sandbox.agents.x-k8s.io/v1beta1";
const claim = (name?: string) => ({ metadata: {}, status: { sandbox: { name } } });
const request = (named: string | undefined, sandboxes: Record<string, unknown>): SentRequest => ({
  parent: claim(named),
  children: { [SANDBOXES]: sandboxes },
});
const sandbox = (generation: number, observedGeneration: number) => ({
  metadata: { generation },
  status: { observedGeneration },
});

test.for<[string, SentRequest]>([
  ["that has no status", { parent: { metadata: {} }, children: { [SANDBOXES]: {} } }],
  ["whose status names no Sandbox yet", request(undefined, { a: sandbox(2, 2) })],
  ["whose Sandbox has not been looked at since it was bound", request("a", { a: sandbox(2, 1) })],
])("a claim %s is answered later", ([, sent]) => {
  expect(bindingDelay(sent)).toBe(25);
  expect(sandboxClaimHook({ allowedLabelDomains: [], allowedAnnotationDomains: [] }).delayMs?.(sent)).toBe(25);
});

test.for<[string, SentRequest]>([
  ["that is bound", request("a", { a: sandbox(2, 2), b: sandbox(2, 1) })],
  ["whose Sandbox is gone", request("a", {})],
])("a claim %s is answered at once", ([, sent]) => {
  expect(bindingDelay(sent)).toBe(0);
});
