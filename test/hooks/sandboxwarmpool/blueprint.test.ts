/** Whether a member still is what the pool would make now. @module */
import { expect, test } from "vitest";
import type { Sandbox } from "../../../packages/api/sandbox.ts";
import { blueprintHash, isStale, podSpecHash } from "../../../hooks/sandboxwarmpool/blueprint.ts";
import { aMember } from "../../pools.ts";
import { aTemplate } from "../../templates.ts";

const podTemplate = aTemplate().spec.podTemplate;
const volume = { metadata: { name: "v", labels: { a: "1" } }, spec: { storageClassName: "fast" } };
const foreign = { labels: { "agents.x-k8s.io/sandbox-template-hash": "ffffffff" } };
const changedPod = { ...podTemplate, spec: { containers: [{ name: "main", image: "python:2" }] } };

const same = [
  ["metadata of the Pod", { podTemplate: { ...podTemplate, metadata: { labels: { a: "1" } } } }],
  ["policies for claims", { envVarsInjectionPolicy: "Allowed", volumeClaimTemplatesPolicy: "Allowed" }],
  ["an empty list of volumes", { volumeClaimTemplates: [] }],
] as const;
test.for(same)("a change of %s makes no member stale", ([, spec]) => {
  const template = aTemplate({ spec });
  expect(blueprintHash(template)).toBe(blueprintHash(aTemplate()));
  expect(isStale(aMember(1), template, blueprintHash(template))).toBe(false);
});

const other = [
  ["the Pod", { podTemplate: changedPod }],
  ["the volumes", { volumeClaimTemplates: [volume] }],
  ["the Service", { service: true }],
  ["the Service to none by word", { service: false }],
  ["what the secure defaults depend on", { networkPolicyManagement: "Unmanaged" }],
] as const;
test.for(other)("a change of %s makes members stale, by hash or by content", ([, spec]) => {
  const template = aTemplate({ spec });
  expect(isStale(aMember(1), template, blueprintHash(template))).toBe(true);
  expect(isStale(aMember(1, { metadata: foreign }), template, blueprintHash(template))).toBe(true);
});

const table: [string, boolean, Sandbox][] = [
  [
    "of another template, whatever it is like",
    true,
    aMember(1, {
      metadata: { labels: { "agents.x-k8s.io/sandbox-template-ref-hash": "ffffffff" } },
    }),
  ],
  [
    "of no template",
    true,
    aMember(1, { metadata: { labels: { "agents.x-k8s.io/sandbox-template-ref-hash": undefined } } }),
  ],
  ["with our hash, whatever it is like now", false, aMember(1, { spec: { podTemplate: changedPod } })],
  ["with another hash and the same content", false, aMember(1, { metadata: foreign })],
  [
    "without a hash and the same content",
    false,
    aMember(1, {
      metadata: { labels: { "agents.x-k8s.io/sandbox-template-hash": undefined } },
    }),
  ],
  ["with another hash and another Pod", true, aMember(1, { metadata: foreign, spec: { podTemplate: changedPod } })],
  [
    "with another hash and another volume",
    true,
    aMember(1, { metadata: foreign, spec: { volumeClaimTemplates: [volume] } }),
  ],
  ["with another hash and another Service", true, aMember(1, { metadata: foreign, spec: { service: false } })],
  [
    "with another hash and an empty list of volumes",
    false,
    aMember(1, { metadata: foreign, spec: { volumeClaimTemplates: [] } }),
  ],
];
test.for(table)("isStale() of a member %s: %s", ([, want, member]) => {
  expect(isStale(member, aTemplate(), blueprintHash(aTemplate()))).toBe(want);
});

test("volumes are compared by name and spec, in order, not by labels", () => {
  const hash = (...volumeClaimTemplates: object[]) => blueprintHash(aTemplate({ spec: { volumeClaimTemplates } }));
  const relabelled = { ...volume, metadata: { name: "v" } };
  const second = { metadata: { name: "w" }, spec: {} };
  expect(hash(relabelled)).toBe(hash(volume));
  expect(hash(second, volume)).not.toBe(hash(volume, second));
  expect(hash({ ...volume, metadata: { name: "w" } })).not.toBe(hash(volume));
});

test("podSpecHash() is of the Pod alone; neither hash depends on the order of keys", () => {
  expect(podSpecHash(aTemplate({ spec: { service: true } }))).toBe(podSpecHash(aTemplate()));
  const turned = aTemplate({ spec: { podTemplate: { spec: { containers: [{ image: "python", name: "main" }] } } } });
  expect([podSpecHash(turned), blueprintHash(turned)]).toEqual(["11d95071", "bb24de08"]);
});
