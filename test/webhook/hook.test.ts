/** @module */
import { expect, test } from "vitest";
import * as z from "zod";
import { compositeCalls, decoratorCalls } from "../../packages/webhook/hook.ts";
import { aChild, aRequest, aSandbox, mapOf, NOW } from "../sandboxes.ts";

const parentSchema = z.looseObject({ metadata: z.looseObject({ name: z.string() }) });
const toy = { name: "x", parentSchema, deletionReasons: "any", childRules: "any" } as const;
const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "demo" } };

test("compositeCalls() takes the reasons of deletions out of the answer", () => {
  const sync = () => ({ status: {}, children: [], deletions: { "Pod/demo": "suspended" } });
  const calls = compositeCalls({ ...toy, type: "composite", sync });
  expect(calls.sync(aRequest(aSandbox(), [aChild("Pod")]), NOW)).toMatchObject({
    answer: { status: {}, children: [] },
    losses: [{ child: { kind: "Pod" }, what: "deleted" }],
    held: [],
  });
});

test("compositeCalls() refuses the same without the reason", () => {
  const calls = compositeCalls({
    ...toy,
    type: "composite",
    sync: () => ({ status: {}, children: [] }),
  });
  expect(calls.sync(aRequest(aSandbox(), [aChild("Pod")]), NOW)).toMatchObject({
    refusal: { children: ["Pod/demo"] },
  });
});

test.for(
  [
    [
      "a resync that is no number",
      { status: {}, children: [], resyncAfterSeconds: "1" },
      "resyncAfterSeconds: invalid_type",
    ],
    ["no status", { children: [] }, "status: invalid_type"],
    ["a field that the protocol lacks", { status: {}, children: [], chidlren: [] }, "unrecognized_keys"],
    [
      "a child without a name",
      { status: {}, children: [{ ...pod, metadata: { name: "" } }] },
      "children.0.metadata.name",
    ],
  ] as const,
)("an answer with %s is not sent", ([, answer, path]) => {
  const calls = compositeCalls({ ...toy, type: "composite", sync: () => answer as never });
  expect(() => calls.sync(aRequest(aSandbox()), NOW)).toThrow(path);
});

test("decoratorCalls() reads object and attachments, and answers labels and attachments", () => {
  const seen: unknown[] = [];
  const calls = decoratorCalls({
    ...toy,
    type: "decorator",
    sync: ({ parent, children }) => {
      seen.push(parent.metadata.name, Object.keys(children["Pod.v1"] ?? {}));
      return { labels: { a: "1", b: null }, attachments: [pod] };
    },
  });
  const request = { object: aSandbox(), attachments: mapOf([aChild("Pod")]), related: {}, finalizing: false };
  expect(calls.sync(request, NOW)).toEqual({
    answer: { labels: { a: "1", b: null }, attachments: [pod] },
    losses: [],
    held: [],
  });
  expect(seen).toEqual(["demo", ["team-a/demo"]]);
});

test("customize answers the rules, and only where the hook has it", () => {
  const rule = { apiVersion: "v1", resource: "pods", namespace: "n", names: ["a"] };
  const sync = () => ({ status: {}, children: [] });
  const calls = compositeCalls({ ...toy, type: "composite", sync, customize: () => [rule] });
  expect(calls.customize?.({ controller: {}, parent: aSandbox() })).toEqual({ relatedResources: [rule] });
  expect(compositeCalls({ ...toy, type: "composite", sync }).customize).toBeUndefined();
});
