/**
 * An annotation that holds what it cannot says nothing, and stays: a user who may write one object must not keep others
 * from being listed.
 */
import { expect, test } from "vitest";
import { stateAnnotation } from "../../packages/api/v1alpha1/convert.ts";
import { alpha, beta, CLAIM_STATE, POD, specOf, toAlpha, toBeta } from "./versions.ts";

const deep = (depth: number) => `${'{"a":'.repeat(depth)}0${"}".repeat(depth)}`;
const kinds = [
  { kind: "Sandbox", spec: { podTemplate: POD, operatingMode: "Running", service: true } },
  { kind: "SandboxClaim", spec: { warmPoolRef: { name: "fast" } } },
  { kind: "SandboxTemplate", spec: { podTemplate: POD } },
  { kind: "SandboxWarmPool", spec: { replicas: 1 } },
];
const texts = ["no", "{", "5", "null", '"a"', "[]", '{"spec":5}', '{"spec":[]}', "", deep(130_000).slice(0, 100_000)];
const cases = kinds.flatMap((it) => texts.map((text) => ({ ...it, text, name: text.slice(0, 20) })));

test.for(cases)("what a $kind of v1alpha1 said: $name", ({ kind, spec, text }) => {
  const annotations = { [stateAnnotation(kind)]: text };
  const before = beta(kind, spec, { metadata: { name: "it", annotations } });
  const after = toAlpha(before);
  expect(specOf(after)).toEqual(specOf(toAlpha(beta(kind, spec))));
  expect(after.metadata.annotations).toEqual(annotations);
  expect(toBeta(after)).toEqual(before);
});

test.for([
  { name: "no template", saved: '{"spec":{"warmpool":"none"}}' },
  { name: "a template that is none", saved: '{"spec":{"sandboxTemplateRef":5,"warmpool":"none"}}' },
  { name: "a pool that is none", saved: '{"spec":{"sandboxTemplateRef":{"name":"a"},"warmpool":{}}}' },
])("a claim with $name", ({ saved }) => {
  const metadata = { name: "it", annotations: { [CLAIM_STATE]: saved } };
  const after = toAlpha(beta("SandboxClaim", { warmPoolRef: { name: "fast" } }, { metadata }));
  expect(specOf(after)).toEqual({ sandboxTemplateRef: { name: "fast" }, warmpool: "fast" });
});

test("what is deeper than can be answered is left out", () => {
  const saved = `{"spec":{"sandboxTemplateRef":{"name":"a","x":${deep(40_000)}}}}`;
  const metadata = { name: "it", annotations: { [CLAIM_STATE]: saved } };
  const after = toAlpha(beta("SandboxClaim", { warmPoolRef: { name: "shadow-pool-a" } }, { metadata }));
  expect(specOf(after)).toEqual({ sandboxTemplateRef: { name: "a" } });
  expect(() => JSON.stringify(after)).not.toThrow();
});

test.for(["no", "{}", "[5]", "[[]]", `[${deep(40_000)}]`])("a claim's volumes", (text) => {
  const annotations = { "api.agents.x-k8s.io/v1beta1-volume-claim-templates": text };
  const before = alpha("SandboxClaim", { sandboxTemplateRef: { name: "a" }, warmpool: "a" }, {
    metadata: { name: "it", annotations },
  });
  const after = toBeta(before);
  expect(specOf(after)).toEqual({ warmPoolRef: { name: "a" } });
  expect(after.metadata.annotations).toMatchObject(annotations);
  expect(() => JSON.stringify(after)).not.toThrow();
  expect(toAlpha(after)).toEqual(before);
});

test.for(["Perhaps", ""])("what a template says of claims' volumes", (text) => {
  const annotations = { "api.agents.x-k8s.io/v1beta1-volume-claim-templates-policy": text };
  const before = alpha("SandboxTemplate", { podTemplate: POD }, { metadata: { name: "it", annotations } });
  const after = toBeta(before);
  expect([specOf(after), after.metadata.annotations]).toEqual([{ podTemplate: POD }, annotations]);
  expect(toAlpha(after)).toEqual(before);
});

const OURS = "api.agents.x-k8s.io/v1beta1-";
test.for([
  {
    name: "volumes of a claim that has none",
    kind: "SandboxClaim",
    spec: { warmPoolRef: { name: "fast" } },
    annotations: { [`${OURS}volume-claim-templates`]: '[{"metadata":{"name":"v"},"spec":{}}]' },
  },
  {
    name: "no Service of a Sandbox that asks for one",
    kind: "Sandbox",
    spec: { podTemplate: POD, operatingMode: "Running", service: true },
    annotations: { [`${OURS}service`]: "unset", [stateAnnotation("Sandbox")]: '{"spec":{"replicas":1}}' },
  },
  {
    name: "a policy of a template that has none",
    kind: "SandboxTemplate",
    spec: { podTemplate: POD },
    annotations: { [`${OURS}volume-claim-templates-policy`]: "Allowed" },
  },
])("an annotation that somebody else has put on an object of v1beta1 does not change it: $name", (each) => {
  const { kind, spec, annotations } = each;
  const before = beta(kind, spec, { metadata: { name: "it", annotations } });
  expect(specOf(toBeta(toAlpha(before)))).toEqual(spec);
});
