/** Many objects that name one claim, one hash or one pool: twice as many are twice the work. @module */
import { describe, expect, test, vi } from "vitest";
import { metadataProblem } from "../../packages/api/claims/podmetadata.ts";
import { claimProblemReconciler } from "../../packages/keeper/claimproblem.ts";
import { createClaimSandboxes } from "../../packages/keeper/claimsandboxes.ts";
import { createBindings } from "../../packages/keeper/observability/bindings.ts";
import { readoptReconciler } from "../../packages/keeper/readopt.ts";
import { createReferences } from "../../packages/keeper/references.ts";
import { aSandbox } from "../sandboxes.ts";
import { operationsOf } from "../operations.ts";
import { aTemplate } from "../templates.ts";
import { aBoundClaim, aClaimsSandbox } from "./bound.ts";
import { aClaim, aPool } from "./extensions.ts";

vi.mock(import("../../packages/api/claims/podmetadata.ts"), async (original) => {
  const module = await original();
  return { ...module, metadataProblem: vi.fn(module.metadataProblem) };
});

const many = <T>(count: number, make: (index: number) => T) => Array.from({ length: count }, (_, index) => make(index));
const api = { send: () => Promise.reject(new Error("no")), watch: () => Promise.reject(new Error("no")) };

const WORK: Record<string, (count: number) => () => void> = {
  "Sandboxes that name one claim, in metrics and Events": (count) => {
    const bindings = createBindings({ onBound() {}, onFirstReady() {} }, new AbortController().signal);
    const sandboxes = many(count, (i) => aClaimsSandbox({ name: `s${i}` }));
    bindings.claims.observe(aBoundClaim());
    return () => {
      for (const sandbox of sandboxes) bindings.sandboxes.observe(sandbox);
      for (const { metadata } of sandboxes) bindings.sandboxes.gone(metadata.uid ?? "");
    };
  },
  "Sandboxes that name one claim, which may say something else": (count) => {
    const known = createClaimSandboxes();
    const claim = aBoundClaim();
    known.handler.listed(new Set());
    known.onChange(() => known.isContradicted(claim));
    const sandboxes = many(count, (i) => aClaimsSandbox({ name: `s${i}` }));
    return () => sandboxes.forEach((sandbox) => known.handler.observe(sandbox));
  },
  "orphans, with as many pools": (count) => {
    const references = createReferences();
    for (let i = 0; i < count; i++) {
      references.pools.handler.observe(aPool({ metadata: { name: `p${i}`, uid: `p${i}`, namespace: `n${i % 9}` } }));
    }
    const reconciler = readoptReconciler({ api, report() {}, references });
    const labels = { "agents.x-k8s.io/warm-pool-sandbox": "deadbeef" };
    const orphans = many(count, (i) => aSandbox({ metadata: { name: `s${i}`, uid: `s${i}`, labels } }));
    return () => orphans.forEach((orphan) => reconciler.dueAt(orphan, 0));
  },
};

test.for(Object.entries(WORK))("%s", ([, prepare]) => {
  const [some, twice] = [300, 600].map((count) => operationsOf(prepare(count))) as [number, number];
  expect(twice).toBeLessThan(2.5 * some + 100);
});

describe("a claim of many labels", () => {
  test("is judged once for a look", () => {
    const references = createReferences();
    references.pools.handler.observe(aPool());
    references.templates.handler.observe(aTemplate());
    references.pools.handler.listed(new Set(["uid-pool"]));
    references.templates.handler.listed(new Set(["uid-python"]));
    references.policies.handler.listed(new Set());
    const domains = ["sandbox.users.io"];
    const reconciler = claimProblemReconciler({ api, report() {}, references, domains });
    for (const labels of [{ bad: "" }, { "sandbox.users.io/good": "" }]) {
      vi.mocked(metadataProblem).mockClear();
      const claim = aClaim({ spec: { additionalPodMetadata: { labels } } });
      for (let times = 0; times < 3; times++) reconciler.dueAt(claim, 0);
      expect(metadataProblem).toHaveBeenCalledTimes(1);
    }
  });
});
