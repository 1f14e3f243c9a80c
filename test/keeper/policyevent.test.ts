import { expect, test } from "vitest";
import { type SandboxTemplate, sandboxTemplateSchema } from "../../packages/api/sandboxtemplate.ts";
import { policyEvent } from "../../packages/keeper/observability/eventrules.ts";

const KEY = "agents.x-k8s.io/unresolved";
const WRITTEN = "2026-11-21T11:59:00Z";
const MESSAGE = 'refusing to update NetworkPolicy "python-network-policy"';

function aTemplate({ kind = "NetworkPolicy", time = WRITTEN, managedFields }: {
  kind?: string;
  time?: string;
  managedFields?: object[];
} = {}): SandboxTemplate {
  const problems = [{ kind, name: "python-network-policy", state: "taken", message: MESSAGE }];
  return sandboxTemplateSchema.parse({
    apiVersion: "extensions.agents.x-k8s.io/v1beta1",
    kind: "SandboxTemplate",
    metadata: {
      name: "python",
      namespace: "team-a",
      uid: "uid-python",
      creationTimestamp: "2026-11-21T09:00:00Z",
      annotations: { [KEY]: JSON.stringify({ generation: 1, problems }) },
      managedFields: managedFields ?? [
        { time: "2026-11-21T09:00:00Z", fieldsV1: { "f:spec": {} } },
        { time, fieldsV1: { "f:metadata": { "f:annotations": { ".": {}, [`f:${KEY}`]: {} } } } },
      ],
    },
    spec: { podTemplate: { spec: { containers: [{ name: "main", image: "busybox" }] } } },
  });
}

test("policyEvent() tells of a policy that is somebody else's, at the time when the word was left", () => {
  expect(policyEvent(aTemplate()).occurrence).toMatchObject({
    regarding: { kind: "SandboxTemplate", namespace: "team-a", name: "python", uid: "uid-python" },
    type: "Warning",
    reason: "NetworkPolicyNotOwned",
    action: "Reconciling",
    note: MESSAGE,
    reportingController: "sandboxtemplate-controller",
    at: Date.parse(WRITTEN),
  });
});

test("policyEvent() takes the word, left once more, for another occurrence", () => {
  const [first, second] = [aTemplate(), aTemplate({ time: "2026-11-21T11:59:30Z" })].map(policyEvent);
  expect(second?.mark).not.toBe(first?.mark);
  expect(policyEvent(aTemplate()).mark).toBe(first?.mark);
});

test("policyEvent() falls back to the template's own time, which is early", () => {
  expect(policyEvent(aTemplate({ managedFields: [] })).occurrence?.at).toBe(Date.parse("2026-11-21T09:00:00Z"));
});

test("policyEvent() says nothing of others", () => {
  expect(policyEvent(aTemplate({ kind: "Pod" }))).toEqual({});
  const { metadata: { annotations: _, ...metadata }, ...rest } = aTemplate();
  expect(policyEvent({ ...rest, metadata })).toEqual({});
});
