/** @module */
import { describe, expect, test } from "vitest";
import { type DeletionReason, guardAnswer, type GuardResult } from "../../packages/webhook/guard.ts";
import { DRAINING_LABEL } from "../../packages/api/objects/keys.ts";
import { childKey, type Observed } from "../../packages/webhook/metacontroller.ts";
import type { DesiredObject, KubeObject } from "../../packages/api/objects/objects.ts";
import { aChild, aRequest, aSandbox, NOW } from "../sandboxes.ts";

type Reasons = Record<string, DeletionReason<unknown>>;
const judge = (
  children: KubeObject[],
  desired: DesiredObject[],
  deletions: Record<string, string> = {},
  reasons: Reasons | "any" = "any",
) => guardAnswer(aRequest(aSandbox(), children) as Observed<unknown>, desired, deletions, NOW, reasons, "any");
const lossesOf = (verdict: GuardResult) =>
  "losses" in verdict ? verdict.losses.map(({ child, what }) => `${childKey(child)} ${what}`) : verdict;

const pod = (name: string, metadata: object = {}, more: object = {}) =>
  aChild("Pod", { metadata: { name, ...metadata }, ...more });
const pvc = aChild("PersistentVolumeClaim", { metadata: { name: "data" } });
const ten = Array.from({ length: 10 }, (_, index) => pod(`p${index}`));
const named = (name: string, more: object = {}, metadata: object = {}): DesiredObject => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, ...metadata },
  ...more,
});
const wanted = (...names: string[]) => names.map((name) => named(name));
const all = ten.map(({ metadata }) => metadata.name);

describe("what is left out", () => {
  test("without a reason is refused, one of ten as all of them, and named", () => {
    expect(judge(ten, wanted(...all.slice(1)))).toEqual({
      refusal: { message: "1 of 10 children would be deleted without a reason", children: ["Pod/p0"] },
    });
    expect(judge(ten, [])).toMatchObject({ refusal: { children: all.map((name) => `Pod/${name}`) } });
    expect(judge([pvc, ...ten], wanted(...all))).toMatchObject({
      refusal: { children: ["PersistentVolumeClaim/data"] },
    });
  });

  test("is named as long as there is room for it in the answer: a hundred children", () => {
    const many = Array.from({ length: 101 }, (_, index) => pod(`p${100 + index}`));
    const { refusal } = judge(many, []) as { refusal: { message: string; children: string[] } };
    expect(refusal.message).toMatch(/^101 of 101 /);
    expect(refusal.children).toEqual(many.slice(0, 100).map(childKey));
  });

  test("for any reason is a loss, where the hook does not say when a reason holds", () => {
    expect(lossesOf(judge([pvc], [], { "PersistentVolumeClaim/data": "asked for" }))).toEqual([
      "PersistentVolumeClaim/data deleted",
    ]);
  });

  test("for a reason that does not hold, or that nobody knows, is refused", () => {
    const reasons: Reasons = { old: { holds: ({ metadata }) => metadata.name === "p0" } };
    expect(lossesOf(judge(ten, wanted(...all.slice(1)), { "Pod/p0": "old" }, reasons))).toEqual(["Pod/p0 deleted"]);
    const deletions = { "Pod/p0": "old", "Pod/p1": "old", "Pod/p2": "ugly" };
    expect(judge(ten, wanted(...all.slice(3)), deletions, reasons)).toMatchObject({
      refusal: { children: ["Pod/p1", "Pod/p2"] },
    });
  });

  test("because the parent's spec says so is no loss, as far as it says so", () => {
    const reasons: Reasons = { many: { holds: () => true, stated: () => 2 } };
    const deletions = { "Pod/p0": "many", "Pod/p1": "many", "Pod/p2": "many" };
    expect(lossesOf(judge(ten, wanted(...all.slice(3)), deletions, reasons))).toEqual(["Pod/p2 deleted"]);
  });

  test("needs no reason once it is terminating", () => {
    const dying = pod("a", { deletionTimestamp: "2026-11-21T12:00:00Z" });
    expect(lossesOf(judge([dying], []))).toEqual([]);
  });

  test("was lost when it was marked as draining", () => {
    const marked = pod("a", { labels: { [DRAINING_LABEL]: "stale" } });
    expect(lossesOf(judge([marked], [], { "Pod/a": "stale" }))).toEqual([]);
    expect(judge([marked], []), "and still needs its reason").toHaveProperty("refusal");
  });
});

describe("what is changed", () => {
  const spec = (fields: object) => ({ spec: fields });
  const sandbox = (name: string, more: object = {}) => aChild("Sandbox", { metadata: { name }, ...more });
  const asSandbox = (name: string, more: object = {}) => ({ ...named(name, more), kind: "Sandbox" });
  test.for<{ name: string; is?: object; will: object; want: string[] }>([
    { name: "nothing of its life", is: { a: 1 }, will: { a: 2 }, want: [] },
    {
      name: "it is suspended",
      is: { operatingMode: "Running" },
      will: { operatingMode: "Suspended" },
      want: ["suspended"],
    },
    {
      name: "it was suspended before",
      is: { operatingMode: "Suspended" },
      will: { operatingMode: "Suspended" },
      want: [],
    },
    { name: "it is resumed", is: { operatingMode: "Suspended" }, will: { operatingMode: "Running" }, want: [] },
    { name: "it is to be deleted at its end", will: { shutdownPolicy: "Delete" }, want: ["expiring"] },
    {
      name: "it was to be deleted then before",
      is: { shutdownPolicy: "Delete" },
      will: { shutdownPolicy: "Delete" },
      want: [],
    },
    { name: "it gets an end", will: { shutdownTime: "2030-01-01T00:00:00Z" }, want: ["expiring"] },
    {
      name: "it ends sooner",
      is: { shutdownTime: "2030-01-02T00:00:00Z" },
      will: { shutdownTime: "2030-01-01T00:00:00Z" },
      want: ["expiring"],
    },
    {
      name: "it ends as it did, in other words",
      is: { shutdownTime: "2030-01-01T00:00:00Z" },
      will: { shutdownTime: "2030-01-01T01:00:00+01:00" },
      want: [],
    },
    {
      name: "it lives longer",
      is: { shutdownTime: "2030-01-01T00:00:00Z" },
      will: { shutdownTime: "2030-01-02T00:00:00Z" },
      want: [],
    },
  ])("$name", ({ is = {}, will, want }) => {
    const losses = lossesOf(judge([sandbox("a", spec(is))], [asSandbox("a", spec(will))]));
    expect(losses).toEqual(want.map((what) => `Sandbox/a ${what}`));
  });

  test.for([{ operatingMode: "Suspended" }, { shutdownTime: "2030-01-01T00:00:00Z" }, { shutdownPolicy: "Delete" }])(
    "%o is no hook's to say that does not list it, of not even one child",
    (fields) => {
      const desired = [asSandbox("a", spec(fields)), asSandbox("b")];
      const observed = aRequest(aSandbox(), [sandbox("a"), sandbox("b")]) as Observed<unknown>;
      observed.children["Sandbox.v1"] ??= {};
      expect(guardAnswer(observed, desired, {}, NOW, {})).toEqual({
        refusal: {
          message: `1 of 2 children would be changed where they must not (spec.${Object.keys(fields)})`,
          children: ["Sandbox/a"],
        },
      });
    },
  );

  test("a mark is a loss, but where the parent's spec says so", () => {
    const mark = (name: string, value: string) => named(name, {}, { labels: { [DRAINING_LABEL]: value } });
    const reasons: Reasons = { surplus: { holds: () => true, stated: () => 1 } };
    const children = [pod("a"), pod("b"), pod("c"), pod("d", { labels: { [DRAINING_LABEL]: "stale" } })];
    const desired = [mark("a", "surplus"), mark("b", "surplus"), mark("c", "stale"), mark("d", "stale")];
    expect(lossesOf(judge(children, desired, {}, reasons))).toEqual(["Pod/b drained", "Pod/c drained"]);
  });
});

test("a kind without a child rule is a broken controller or a broken hook", () => {
  const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "s" } };
  expect(() => judge([], [secret])).toThrow("Cannot answer with a Secret.v1");
});

test("a child of another namespace than its parent's is a broken hook: Metacontroller would make it there", () => {
  expect(() => judge([], [named("a", {}, { namespace: "kube-system" })])).toThrow(
    "Cannot answer with Pod/a: it is of another namespace",
  );
  expect(judge([], [named("a", {}, { namespace: "team-a" })])).toEqual({ losses: [] });
});

test("two children of one name are a broken hook", () => {
  expect(() => judge([], wanted("a", "a"))).toThrow("Cannot answer with two children Pod/a");
});
