/** The Pod metadata of a claim's Sandbox, and the record that tells the claim's share from the template's. @module */
import { expect, test } from "vitest";
import { boundMetadata } from "../../../packages/api/claims/boundmetadata.ts";
import { aClaim } from "../../pools.ts";

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
