/** What one answer would do otherwise than another. @module */
import { expect, test } from "vitest";
import { answerChanges, fieldChanges, type HookAnswer } from "../../../packages/cli/replay/compare.ts";
import fc from "../../properties.ts";
import { aChild, aRequest, aSandbox } from "../../sandboxes.ts";

const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "demo" }, spec: { hostname: "a" } };
const service = { apiVersion: "v1", kind: "Service", metadata: { name: "demo" } };
const observingPod = aRequest(aSandbox(), [aChild("Pod", { metadata: { name: "demo" } })]);
const observingNone = aRequest(aSandbox());
const good = (body: object): HookAnswer => ({ status: 200, body });
const bare = { status: {}, children: [] };

test.for<{ name: string; request?: object; before: HookAnswer; after: HookAnswer; want: object[] }>([
  {
    name: "children in another order are the same",
    before: good({ status: {}, children: [pod, service] }),
    after: good({ children: [service, pod], status: {} }),
    want: [],
  },
  {
    name: "an observed child that is left out is deleted",
    request: observingPod,
    before: good({ status: {}, children: [pod] }),
    after: good(bare),
    want: [{ effect: "deletes", child: { kind: "Pod", name: "demo" } }],
  },
  {
    name: "an observed child that was left out is kept",
    request: observingPod,
    before: good(bare),
    after: good({ status: {}, children: [pod] }),
    want: [{ effect: "keeps" }],
  },
  {
    name: "a child that is not there is not made any more",
    before: good({ status: {}, children: [pod] }),
    after: good(bare),
    want: [{ effect: "omits" }],
  },
  {
    name: "a child that is not there is made, as an attachment too",
    before: good({ attachments: [] }),
    after: good({ attachments: [service] }),
    want: [{ effect: "creates", child: { kind: "Service", name: "demo" } }],
  },
  {
    name: "a field of a child, and one of the answer",
    before: good({ status: {}, children: [pod], resyncAfterSeconds: 5 }),
    after: good({ status: {}, children: [{ ...pod, spec: { hostname: "b" } }] }),
    want: [
      { effect: "changes", child: { kind: "Pod", name: "demo" }, path: "spec.hostname", before: "a", after: "b" },
      { effect: "changes", path: "resyncAfterSeconds", before: 5, after: undefined },
    ],
  },
  {
    name: "another status hides the rest",
    before: good({ status: {}, children: [pod] }),
    after: { status: 500, body: { error: "Cannot answer" } },
    want: [{ effect: "answers", before: "200", after: "500 Cannot answer" }],
  },
  {
    name: "two errors of one status are equal",
    before: { status: 500, body: { error: "a" } },
    after: { status: 500, body: { error: "b" } },
    want: [],
  },
  {
    name: "what customize asks for",
    before: good({ relatedResources: [{ apiVersion: "v1", resource: "pods" }] }),
    after: good({ relatedResources: [{ apiVersion: "v2", resource: "pods" }] }),
    want: [{ effect: "changes", path: "relatedResources[pods].apiVersion", before: "v1", after: "v2" }],
  },
])("answerChanges(): $name", ({ request = observingNone, before, after, want }) => {
  const changes = answerChanges(request, before, after);
  expect(changes).toHaveLength(want.length);
  expect(changes).toMatchObject(want);
});

const ready = (status: string, message = "") => ({ type: "Ready", status, message });
const finished = { type: "Finished", status: "True" };

test.for<{ name: string; before: unknown; after: unknown; want: [string, unknown, unknown][] }>([
  { name: "equal", before: { a: [1, { b: null }] }, after: { a: [1, { b: null }] }, want: [] },
  { name: "keys stand otherwise", before: { a: 1, b: 2 }, after: { b: 2, a: 1 }, want: [] },
  { name: "a field", before: { spec: { x: 1 } }, after: { spec: { x: 2 } }, want: [["spec.x", 1, 2]] },
  {
    name: "a field goes",
    before: { spec: { x: { y: 1 } } },
    after: { spec: {} },
    want: [["spec.x", { y: 1 }, undefined]],
  },
  { name: "null is not absent", before: { x: null }, after: {}, want: [["x", null, undefined]] },
  { name: "a label", before: { "a.b/c": "1" }, after: { "a.b/c": "2" }, want: [['["a.b/c"]', "1", "2"]] },
  {
    name: "conditions go by type",
    before: { conditions: [ready("True"), finished] },
    after: { conditions: [ready("False")] },
    want: [["conditions[Ready].status", "True", "False"], ["conditions[Finished]", finished, undefined]],
  },
  {
    name: "named items in another order",
    before: { env: [{ name: "A" }, { name: "B" }] },
    after: { env: [{ name: "B" }, { name: "A" }] },
    want: [["env (order)", ["A", "B"], ["B", "A"]]],
  },
  { name: "words in a list", before: { a: ["x"] }, after: { a: ["x", "y"] }, want: [["a", ["x"], ["x", "y"]]] },
  {
    name: "items without names",
    before: { rules: [{ from: 1 }, { from: 2 }] },
    after: { rules: [{ from: 1 }, { from: 3 }] },
    want: [["rules[1].from", 2, 3]],
  },
  {
    name: "two of one name are distinguished by their places",
    before: [{ name: "a", x: 1 }, { name: "a", x: 2 }],
    after: [{ name: "a", x: 1 }, { name: "a", x: 3 }],
    want: [["[1].x", 2, 3]],
  },
])("fieldChanges(): $name", ({ before, after, want }) => {
  expect(fieldChanges(before, after).map(({ path, before, after }) => [path, before, after])).toEqual(want);
});

test("fieldChanges() finds nothing in equal values, and something in unequal ones", () => {
  fc.assert(fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
    const [one, other] = [JSON.parse(JSON.stringify(a)), JSON.parse(JSON.stringify(b))];
    expect(fieldChanges(one, structuredClone(one))).toEqual([]);
    if (canonical(one) !== canonical(other)) expect(fieldChanges(one, other)).not.toEqual([]);
  }));
});

function canonical(value: unknown): string {
  return JSON.stringify(
    value,
    (_, field) =>
      typeof field === "object" && field !== null && !Array.isArray(field)
        ? Object.fromEntries(Object.entries(field).sort(([a], [b]) => (a < b ? -1 : 1)))
        : field,
  );
}
