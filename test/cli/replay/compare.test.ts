/** What one answer would do otherwise than another. @module */
import { expect, test } from "vitest";
import { answerChanges, type Answered } from "../../../packages/cli/replay/compare.ts";
import { aChild, aRequest, aSandbox } from "../../sandboxes.ts";

const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "demo" }, spec: { hostname: "a" } };
const service = { apiVersion: "v1", kind: "Service", metadata: { name: "demo" } };
const observingPod = aRequest(aSandbox(), [aChild("Pod", { metadata: { name: "demo" } })]);
const observingNone = aRequest(aSandbox());
const good = (body: object): Answered => ({ status: 200, body });
const bare = { status: {}, children: [] };

test.for<{ name: string; request?: object; before: Answered; after: Answered; want: object[] }>([
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
