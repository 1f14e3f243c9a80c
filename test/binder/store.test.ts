/** Which change of a pool, template or NetworkPolicy is reported: only what matters for claims is looked at again. @module */
import { expect, test } from "vitest";
import type { SandboxWarmPool } from "../../packages/api/sandboxwarmpool.ts";
import { namedHandler } from "../../packages/binder/store.ts";
import { ago, aPool, type Over } from "../pools.ts";

const PROBLEM = { annotations: { "agents.x-k8s.io/unresolved": '[{"message":"no"}]' } };

/** Shows a handler these objects one after the other, and returns what it has reported. */
function changesOf(...shown: Over[]): string[] {
  const byName = new Map<string, SandboxWarmPool>();
  const changes: string[] = [];
  const handler = namedHandler(byName, (pool) => pool, (_, change) => changes.push(change));
  for (const over of shown) handler.observe(aPool(over));
  expect(byName.get("team-a/warm")).toEqual(aPool(shown.at(-1)));
  return changes;
}

test.for<[name: string, before: Over, after: Over, want: string]>([
  ["nothing", {}, {}, "other"],
  ["its labels", {}, { metadata: { labels: { a: "b" } } }, "other"],
  ["another annotation", {}, { metadata: { annotations: { a: "b" } } }, "other"],
  ["another part of its status", {}, { status: { selector: "a=b" } }, "other"],
  ["what it counts", { status: { replicas: 1 } }, { status: { replicas: 2 } }, "counts"],
  ["its spec", {}, { metadata: { generation: 2 } }, "spec"],
  ["that it is being deleted", {}, { metadata: { deletionTimestamp: ago(1) } }, "spec"],
  ["that the keeper reports a problem", {}, { metadata: PROBLEM }, "problem"],
  ["that the problem is over", { metadata: PROBLEM }, {}, "problem"],
  ["its spec and a problem", {}, { metadata: { ...PROBLEM, generation: 2 } }, "spec"],
  ["that it was made anew", {}, { metadata: { uid: "uid-next" } }, "spec"],
])("what has changed is %s", ([, before, after, want]) => {
  expect(changesOf(before, after)).toEqual(["spec", want]);
});

test("the end of an object is no end of the one that has its name by then", () => {
  const byName = new Map<string, SandboxWarmPool>();
  const changes: string[] = [];
  const handler = namedHandler(
    byName,
    (pool) => pool,
    ({ metadata }, change) => changes.push(`${metadata.uid} ${change}`),
  );
  handler.observe(aPool());
  handler.observe(aPool({ metadata: { uid: "uid-next" } }));
  handler.gone("uid-warm");
  expect([changes, byName.size]).toEqual([["uid-warm spec", "uid-next spec"], 1]);
  handler.gone("uid-next");
  expect([changes.at(-1), byName.size]).toEqual(["uid-next gone", 0]);
});
