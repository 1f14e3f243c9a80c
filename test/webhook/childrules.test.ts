/** How an answer may create and change children: the guard refuses what a hook's rules do not list. @module */
import { describe, expect, test } from "vitest";
import { type ChildRules, unexpectedStrategy } from "../../packages/webhook/childrules.ts";
import { guardAnswer } from "../../packages/webhook/guard.ts";
import type { Observed } from "../../packages/webhook/metacontroller.ts";
import type { DesiredObject, KubeObject } from "../../packages/api/objects/objects.ts";
import { aChild, aRequest, aSandbox, NOW } from "../sandboxes.ts";

const rules: ChildRules<unknown> = {
  "Pod.v1": {
    resource: "pods",
    updateStrategy: "InPlace",
    mayChange: {
      "metadata.labels": ({ path, will }) => path[2] === "colour" && will !== "black",
      "spec.size": () => true,
    },
    wrongWith: ({ metadata }) => metadata.name.startsWith("new") ? [] : ["metadata.name"],
    mostNew: () => 2,
  },
  "PersistentVolumeClaim.v1": { resource: "persistentvolumeclaims", updateStrategy: "OnDelete", mayChange: {} },
};

const applied = { metadata: { labels: { colour: "red", app: "x" } }, spec: { size: 1, image: "a" } };
const pod = aChild("Pod", {
  lastApplied: applied,
  metadata: { name: "a", labels: { colour: "red", app: "x", theirs: "1" } },
  spec: { size: 1, image: "a", preset: true },
});
const wanted = (over: { metadata?: object; [field: string]: unknown } = {}): DesiredObject => ({
  ...{ apiVersion: "v1", kind: "Pod", spec: applied.spec },
  ...over,
  metadata: { name: "a", labels: applied.metadata.labels, ...over.metadata },
});
const judge = (children: KubeObject[], desired: DesiredObject[], given: ChildRules<unknown> = rules) => {
  const verdict = guardAnswer(aRequest(aSandbox(), children) as Observed<unknown>, desired, {}, NOW, "any", given);
  return "refusal" in verdict ? verdict.refusal.message : "passes";
};
const changed = (...fields: string[]) => `1 of 1 children would be changed where they must not (${fields.join(", ")})`;

describe("a child that exists", () => {
  test.for<{ name: string; desired: DesiredObject; child?: KubeObject; want: string }>([
    { name: "is answered as it was applied", desired: wanted(), want: "passes" },
    { name: "changes in a listed field", desired: wanted({ spec: { size: 2, image: "a" } }), want: "passes" },
    {
      name: "changes in another one",
      desired: wanted({ spec: { size: 1, image: "b" } }),
      want: changed("spec.image"),
    },
    {
      name: "changes in a listed field to what its rule refuses",
      desired: wanted({ metadata: { labels: { colour: "black", app: "x" } } }),
      want: changed("metadata.labels.colour"),
    },
    {
      name: "loses a field by silence",
      desired: wanted({ metadata: { labels: { colour: "red" } } }),
      want: changed("metadata.labels.app"),
    },
    {
      name: "is named, and no more",
      desired: { apiVersion: "v1", kind: "Pod", metadata: { name: "a" } },
      want: changed("spec.image", "spec.preset", "metadata.labels.app", "metadata.labels.theirs"),
    },
    {
      name: "gets a field that nobody had",
      desired: wanted({ metadata: { finalizers: ["example.com/never"] } }),
      want: changed("metadata.finalizers"),
    },
    {
      name: "gets an empty field that nobody had",
      desired: wanted({ spec: { ...applied.spec, emptyDir: {} } }),
      want: changed("spec.emptyDir"),
    },
    {
      name: "has a field taken over that is its user's, as it is: the next answer could remove it",
      desired: wanted({ metadata: { labels: { ...applied.metadata.labels, theirs: "1" } } }),
      want: changed("metadata.labels.theirs"),
    },
    {
      name: "has what the API server has preset taken over",
      desired: wanted({ spec: { ...applied.spec, preset: true } }),
      want: changed("spec.preset"),
    },
    {
      name: "is put back to what was applied",
      child: aChild("Pod", { ...pod, metadata: { ...pod.metadata, labels: { colour: "red", app: "y" } } }),
      desired: wanted(),
      want: "passes",
    },
    {
      name: "is being deleted, and Metacontroller does not touch it",
      child: aChild("Pod", { ...pod, metadata: { ...pod.metadata, deletionTimestamp: "2026-11-21T12:00:00Z" } }),
      desired: wanted({ spec: { size: 1, image: "b" } }),
      want: "passes",
    },
    {
      name: "says nothing of system fields that Metacontroller ignores",
      desired: wanted({ metadata: { uid: "another" }, status: { phase: "Failed" } }),
      want: "passes",
    },
  ])("$name", ({ desired, child = pod, want }) => {
    expect(judge([child], [desired])).toBe(want);
  });

  test("whose last-applied annotation nobody can read is named, and no more", () => {
    const annotations = { "metacontroller.k8s.io/last-applied-configuration": "{" };
    const broken = aChild("Pod", { metadata: { name: "a", annotations } });
    expect(judge([broken], [{ apiVersion: "v1", kind: "Pod", metadata: { name: "a" } }])).toBe("passes");
    expect(judge([broken], [wanted()])).toBe(changed("metadata.labels", "spec"));
  });

  test("of a kind that is never updated may be answered as it would be made now", () => {
    const volume = aChild("PersistentVolumeClaim", { metadata: { name: "a" }, spec: { size: 1 } });
    const desired = { apiVersion: "v1", kind: "PersistentVolumeClaim", metadata: { name: "a" }, spec: { size: 2 } };
    expect(judge([volume], [desired])).toBe("passes");
  });

  test("may not change at all where a hook declares nothing", () => {
    expect(judge([pod], [wanted()], {})).toBe("passes");
    expect(judge([pod], [wanted({ spec: { size: 2, image: "a" } })], {})).toBe(changed("spec.size"));
  });
});

describe("a new child", () => {
  const made = (...names: string[]) => names.map((name) => wanted({ metadata: { name } }));
  test("is what its rule wants, and there are no more than the parent asks for", () => {
    expect(judge([], made("new-1", "new-2"))).toBe("passes");
    expect(judge([], made("old-1"))).toBe("1 new child is not what its parent asks for (metadata.name)");
    expect(judge([], made("new-1", "new-2", "new-3"))).toBe(
      "1 new child is not what its parent asks for (more than the parent asks for)",
    );
  });

  test("is refused where no rule says what it must be", () => {
    const volume = { apiVersion: "v1", kind: "PersistentVolumeClaim", metadata: { name: "a" } };
    expect(judge([], [volume])).toBe("1 new child is not what its parent asks for (kind)");
    expect(judge([], made("new-1"), {})).toBe("1 new child is not what its parent asks for (kind)");
  });
});

describe("a controller that asks", () => {
  const asking = (field: "childResources" | "attachments", method?: string) => ({
    controller: {
      spec: { [field]: [{ apiVersion: "v1", resource: "pods", ...(method ? { updateStrategy: { method } } : {}) }] },
    },
  });
  test.for<[string, unknown, string | undefined]>([
    ["updates by the strategy that is written for", asking("childResources", "InPlace"), undefined],
    [
      "deletes what differs",
      asking("childResources", "Recreate"),
      "the controller updates pods by Recreate, not by InPlace as its manifest says",
    ],
    [
      "does so as a decorator",
      asking("attachments", "RollingRecreate"),
      "the controller updates pods by RollingRecreate, not by InPlace as its manifest says",
    ],
    [
      "never updates",
      asking("childResources"),
      "the controller updates pods by OnDelete, not by InPlace as its manifest says",
    ],
    ["is not in the request", {}, undefined],
    ["is empty", { controller: {} }, undefined],
    ["is no object", { controller: 1 }, undefined],
  ])("%s", ([, request, want]) => {
    expect(unexpectedStrategy(request, rules)).toBe(want);
  });
});
