/** Which change of a pool, template or NetworkPolicy is reported: only what matters for claims is looked at again. @module */
import { expect, test } from "vitest";
import { changeOf } from "../../packages/binder/store.ts";
import { ago, aPool, type Over } from "../pools.ts";

const PROBLEM = { annotations: { "agents.x-k8s.io/unresolved": '[{"message":"no"}]' } };

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
])("what has changed is %s", ([, before, after, want]) => {
  expect(changeOf(aPool(before), aPool(after))).toBe(want);
});

test("what was not there before has a new spec, and what is not there now is gone", () => {
  expect([changeOf(undefined, aPool()), changeOf(aPool(), undefined)]).toEqual(["spec", "gone"]);
});
