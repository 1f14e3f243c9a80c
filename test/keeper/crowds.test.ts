/** Many objects that name one claim, one hash or one pool: twice as many are twice the work. @module */
import { expect, test } from "vitest";
import { createBindings } from "../../packages/keeper/observability/bindings.ts";
import { claimRequeueing } from "../../packages/keeper/claimwake.ts";
import { createReconcileQueue } from "../../packages/kube/reconcilequeue.ts";
import { readoptReconciler } from "../../packages/keeper/readopt.ts";
import { createReferences } from "../../packages/keeper/references.ts";
import { aSandbox } from "../sandboxes.ts";
import { operationsOf } from "../operations.ts";
import { aBoundClaim, aClaimsSandbox } from "./bound.ts";
import { aPool } from "./extensions.ts";

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
  "Sandboxes that name one claim, in requeueing": (count) => {
    const { signal } = new AbortController();
    const { claims, sandboxes } = claimRequeueing(api, (own) => createReconcileQueue(own, { log() {} }, signal));
    const found = many(count, (i) => aClaimsSandbox({ name: `s${i}` }));
    claims.observe(aBoundClaim());
    return () => {
      for (const sandbox of found) sandboxes.observe(sandbox);
      for (const { metadata } of found) sandboxes.gone(metadata.uid ?? "");
    };
  },
  "orphans, with as many pools": (count) => {
    const references = createReferences();
    for (let i = 0; i < count; i++) {
      references.pools.observe(aPool({ metadata: { name: `p${i}`, uid: `p${i}`, namespace: `n${i % 9}` } }));
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
