/** The Pod metadata of a claim's Sandbox, and the record that tells the claim's share from the template's. @module */
import { expect, test } from "vitest";
import { boundMetadata, updatedMetadata } from "../../claims/boundmetadata.ts";
import { aClaim } from "../pools.ts";

const RECORD = "agents.x-k8s.io/claim-pod-metadata";
const TEMPLATE = { labels: { app: "x", "sandbox.users.io/tier": "1" }, annotations: { note: "t" } };
const asking = (additionalPodMetadata: object, metadata: object = {}) =>
  aClaim("c", { metadata, spec: { additionalPodMetadata } });

test("boundMetadata() tracks claim, template and client, over whatever the template says", () => {
  const claim = aClaim("c", { metadata: { labels: { "agents.x-k8s.io/created-by": "go-client", other: "1" } } });
  const cheeky = { labels: { "agents.x-k8s.io/claim-uid": "mine", app: "x" } };
  expect(boundMetadata(cheeky, claim, "hash")).toEqual({
    metadata: {
      labels: {
        app: "x",
        "agents.x-k8s.io/claim-uid": "uid-c",
        "agents.x-k8s.io/sandbox-template-ref-hash": "hash",
        "agents.x-k8s.io/created-by": "go-client",
      },
    },
    record: "{}",
  });
});

test("boundMetadata() without a template's hash and a client's name has neither label", () => {
  const { metadata } = boundMetadata({}, aClaim("c"), undefined);
  expect(metadata).toEqual({ labels: { "agents.x-k8s.io/claim-uid": "uid-c" } });
});

test("boundMetadata() records only what the claim adds: what the template has too is not the claim's to take away", () => {
  const claim = asking({
    labels: { "sandbox.users.io/tier": "1", "sandbox.users.io/b": "2" },
    annotations: { z: "1" },
  });
  const { metadata, record } = boundMetadata(TEMPLATE, claim, undefined);
  expect(record).toBe('{"annotations":{"z":"1"},"labels":{"sandbox.users.io/b":"2"}}');
  expect(metadata).toMatchObject({
    labels: { app: "x", "sandbox.users.io/tier": "1", "sandbox.users.io/b": "2" },
    annotations: { note: "t", z: "1" },
  });
});

const bound = { labels: { app: "x", "sandbox.users.io/b": "2" }, annotations: { note: "t", z: "1" } };
const recorded = { [RECORD]: '{"annotations":{"z":"1"},"labels":{"sandbox.users.io/b":"2"}}' };
const updates = [
  ["nothing new", { labels: { "sandbox.users.io/b": "2" }, annotations: { z: "1" } }, bound, recorded[RECORD]],
  ["a new key", { labels: { "sandbox.users.io/b": "2", "sandbox.users.io/c": "3" }, annotations: { z: "1" } }, {
    labels: { ...bound.labels, "sandbox.users.io/c": "3" },
    annotations: bound.annotations,
  }, '{"annotations":{"z":"1"},"labels":{"sandbox.users.io/b":"2","sandbox.users.io/c":"3"}}'],
  ["another value", { labels: { "sandbox.users.io/b": "9" } }, {
    labels: { app: "x", "sandbox.users.io/b": "9" },
    annotations: { note: "t" },
  }, '{"labels":{"sandbox.users.io/b":"9"}}'],
  ["nothing any more", undefined, { labels: { app: "x" }, annotations: { note: "t" } }, "{}"],
] as const;
test.for(updates)("updatedMetadata() of a claim that wants %s", ([, additionalPodMetadata, metadata, record]) => {
  const claim = aClaim("c", { spec: additionalPodMetadata ? { additionalPodMetadata } : {} });
  expect(updatedMetadata(bound, recorded, claim)).toEqual({ metadata, record });
});

test("updatedMetadata() never takes away what the record does not say is the claim's", () => {
  const none = aClaim("c");
  for (const annotations of [undefined, {}, { [RECORD]: "{" }, { [RECORD]: "[]" }, { [RECORD]: "null" }]) {
    expect(updatedMetadata(bound, annotations, none)).toEqual({ metadata: bound, record: "{}" });
  }
  const changed = { ...bound, annotations: { note: "t", z: "by somebody else" } };
  expect(updatedMetadata(changed, recorded, none)).toMatchObject({ metadata: { annotations: changed.annotations } });
});

test("updatedMetadata() refuses to change what is not the claim's, in the contract's words", () => {
  expect(updatedMetadata(bound, recorded, asking({ annotations: { note: "mine" } }))).toEqual({
    problem: {
      reason: "ReconcilerError",
      message:
        'Error seen: metadata override conflict: annotation "note" is defined in template with value "t", but claim requests "mine"',
    },
  });
});
