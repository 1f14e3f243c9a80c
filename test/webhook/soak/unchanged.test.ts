/** What an answer says of a child's spec must leave the stored spec as it is, by Metacontroller's own merge. @module */
import { expect, test } from "vitest";
import { applyUpdate, sameJson } from "../../../packages/api/objects/apply.ts";
import { unchanged, unchangedSpec } from "../../../packages/webhook/unchanged.ts";
import { aChild } from "../../sandboxes.ts";
import fc from "../../properties.ts";

const cases = [
  { name: "nothing changed by the server", applied: { a: 1 }, observed: { a: 1, nodeName: "n" } },
  {
    name: "tolerations added by admission",
    applied: { tolerations: [{ key: "a" }], x: 1 },
    observed: { tolerations: [{ key: "a" }, { key: "b" }], x: 1 },
  },
  {
    name: "a quantity in its canonical form",
    applied: { r: { cpu: "1000m", m: 1 } },
    observed: { r: { cpu: "1", m: 1 } },
  },
  { name: "an empty list that the server drops", applied: { hostAliases: [], c: 1 }, observed: { c: 1 } },
  { name: "null that the server drops", applied: { a: null, b: { c: null } }, observed: { b: {} } },
  {
    name: "defaults inside a list without keys",
    applied: { volumes: [{ name: "p", projected: { sources: [{ token: { path: "t" } }] } }] },
    observed: {
      volumes: [{ name: "p", projected: { mode: 420, sources: [{ token: { path: "t", seconds: 3600 } }] } }],
    },
  },
  {
    name: "a sidecar injected between the containers",
    applied: { containers: [{ name: "a", image: "x" }] },
    observed: { containers: [{ name: "a", image: "x", policy: "Always" }, { name: "injected" }] },
  },
];

test.for(cases)("unchangedSpec() leaves alone: $name", ({ applied, observed }) => {
  const child = aChild("Pod", { lastApplied: { spec: applied }, spec: observed });
  expect(applyUpdate(child, { ...unchangedSpec(child) })["spec"]).toEqual(observed);
});

test("unchangedSpec() is the last applied spec, word for word, where that leaves things alone", () => {
  const applied = { containers: [{ name: "a" }] };
  const child = aChild("Pod", { lastApplied: { spec: applied }, spec: { containers: [{ name: "a", image: "x" }] } });
  expect(unchangedSpec(child)).toEqual({ spec: applied });
});

test("unchangedSpec() is silent on a spec that Metacontroller never applied", () => {
  expect(unchangedSpec(aChild("Pod", { spec: { a: 1 } }))).toEqual({});
  expect(unchangedSpec(aChild("Pod", { lastApplied: { metadata: { name: "demo" } }, spec: { a: 1 } }))).toEqual({});
});

test("unchanged() causes no write", () => {
  const lastApplied = { apiVersion: "v1", kind: "Pod", metadata: { labels: { a: "1" }, name: "demo" }, spec: { x: 1 } };
  const child = aChild("Pod", { lastApplied, metadata: { labels: { a: "1", b: "2" } }, spec: { x: 1, y: 2 } });
  expect(sameJson(applyUpdate(child, unchanged(child)), child)).toBe(true);
});

test("whatever was applied and whatever the server made of it, the stored spec survives", () => {
  const leaf = fc.oneof(fc.integer(), fc.string(), fc.boolean(), fc.constant(null));
  const { node } = fc.letrec((tie) => ({
    node: fc.oneof({ maxDepth: 3 }, leaf, tie("list"), tie("object")),
    list: fc.array(fc.oneof(leaf, tie("object")), { maxLength: 3 }),
    object: fc.dictionary(fc.constantFrom("a", "b", "mode", "items"), tie("node"), { maxKeys: 3 }),
  }));
  const spec = fc.dictionary(fc.constantFrom("a", "b", "c"), node, { maxKeys: 3 });
  fc.assert(fc.property(spec, spec, (applied, observed) => {
    const child = aChild("Pod", { lastApplied: { spec: applied }, spec: observed });
    expect(sameJson(applyUpdate(child, unchangedSpec(child))["spec"], observed)).toBe(true);
  }));
});

test("unchanged() has the child's own name, kind and namespace, whatever was written into its last-applied configuration", () => {
  const forged = {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRoleBinding",
    metadata: { name: "other", namespace: "kube-system", labels: { a: "b" } },
  };
  const { metadata, ...rest } = unchanged(aChild("Pod", { lastApplied: forged }));
  expect(rest).toMatchObject({ apiVersion: "v1", kind: "Pod" });
  expect(metadata).toEqual({ name: "demo", namespace: "team-a", labels: { a: "b" } });
  expect(unchanged(aChild("Pod", { lastApplied: { metadata: { name: "x" } } })).metadata).toEqual({ name: "demo" });
});
