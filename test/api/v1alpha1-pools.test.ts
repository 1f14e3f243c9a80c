/** Converts the pools of claims between v1alpha1 and v1beta1, in both directions. @module */
import { expect, test } from "vitest";
import { alpha, beta, specOf, toAlpha, toBeta } from "./versions.ts";

test("a pool keeps its grace period and what it gives to claims, there and back from either version", () => {
  const spec = {
    replicas: 1,
    sandboxTemplateRef: { name: "python" },
    readinessGracePeriodSeconds: 90,
    claimDefaults: { lifecycle: { shutdownPolicy: "Delete", ttlSecondsAfterFinished: 10 } },
  };
  for (
    const [before, there, back] of [
      [beta("SandboxWarmPool", spec), toAlpha, toBeta],
      [alpha("SandboxWarmPool", spec), toBeta, toAlpha],
    ] as const
  ) {
    expect(specOf(there(before))).toEqual(spec);
    expect(back(there(before))).toEqual(before);
  }
});

test("a pool that says nothing of its size has one member, and no observedGeneration", () => {
  const after = toAlpha(beta("SandboxWarmPool", {}, { status: { replicas: 2, observedGeneration: 4 } }));
  expect([specOf(after), after["status"]]).toEqual([{ replicas: 1 }, { replicas: 2 }]);
});
