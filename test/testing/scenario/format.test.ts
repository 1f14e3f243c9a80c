/** What a scenario file may contain. @module */
import { expect, test } from "vitest";
import { readScenario, replaceTimes } from "../../../packages/testing/scenario/format.ts";

test("readScenario() reads objects and steps", () => {
  const text = `
apiVersion: agents.x-k8s.io/v1beta1
kind: Sandbox
metadata: { name: box }
---
wait: Sandbox/box
for: Ready=False/PodFailed
within: 2m
---
wait: SandboxWarmPool/p
for: { readyReplicas: 2 }
---
wait: Sandbox/box
for: gone
---
patch: Sandbox/box
with: { spec: { operatingMode: Suspended } }
---
delete: Sandbox/box
propagation: Foreground
---
advance: 1m30s
---
expect: Sandbox/box
Ready: [True DependenciesReady]
`;
  const target = { kind: "Sandbox", name: "box" };
  expect(readScenario(text).steps).toEqual([
    { step: "apply", object: expect.objectContaining({ kind: "Sandbox" }) },
    { step: "wait", target, wanted: { type: "Ready", status: "False", reason: "PodFailed" }, withinMs: 120_000 },
    { step: "wait", target: { kind: "SandboxWarmPool", name: "p" }, wanted: { readyReplicas: 2 }, withinMs: 60_000 },
    { step: "wait", target, wanted: "gone", withinMs: 60_000 },
    { step: "patch", target, change: { spec: { operatingMode: "Suspended" } } },
    { step: "delete", target, propagation: "Foreground" },
    { step: "advance", ms: 90_000 },
    { step: "expect", target, seen: { Ready: ["True DependenciesReady"] } },
  ]);
});

test.for([
  "wait: Sandbox",
  "{ wait: Sandbox/box }",
  "{ wait: Thing/box, for: gone }",
  "{ wait: Sandbox/box, for: Ready }",
  "{ wait: Sandbox/box, for: gone, within: soon }",
  "{ delete: Sandbox/box, force: true }",
  "{ advance: 5 }",
  "{ expect: Sandbox/box, Ready: [] }",
  "{ sleep: 5s }",
  "a: [",
])("a step that is none is refused with the number of its document: %s", (text) => {
  expect(() => readScenario(`advance: 1s\n---\n${text}`)).toThrow(/^Cannot read document 2: /);
});

test("replaceTimes() puts times where a length of time from now stands", () => {
  const now = Date.parse("2026-01-01T00:00:00.700Z");
  expect(replaceTimes({ a: ["now+1m30s", "now+x", "now"] }, now)).toEqual({
    a: ["2026-01-01T00:01:30Z", "now+x", "now"],
  });
});
