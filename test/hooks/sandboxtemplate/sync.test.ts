/** The SandboxTemplate hook: the policy it wants, and that it gets it by Metacontroller's merge. @module */
import { expect, test } from "vitest";
import { sandboxTemplateHook } from "../../../hooks/sandboxtemplate/hook.ts";
import { applyCreate, applyUpdate, sameJson } from "../../../packages/api/objects/apply.ts";
import type { Decorated } from "../../../packages/webhook/metacontroller.ts";
import type { DesiredObject, KubeObject } from "../../../packages/api/objects/objects.ts";
import { settingsOf } from "../../hooksettings.ts";
import { NOW } from "../../sandboxes.ts";
import { aTemplate, aTemplateRequest } from "../../templates.ts";

const cidrsOf = (text: string) => settingsOf("--denied-egress-cidrs", text).deniedEgressCidrs;

const HASH = "agents.x-k8s.io/sandbox-template-ref-hash";

function answer(template = aTemplate(), policies: KubeObject[] = []): Decorated<never> {
  const outcome = sandboxTemplateHook({ deniedEgressCidrs: [] }).sync(aTemplateRequest(template, policies), NOW);
  if (!("answer" in outcome)) throw new Error(outcome.refusal.message);
  return outcome.answer as Decorated<never>;
}

/** What the API server would store of a desired policy. */
function stored(policy: DesiredObject | undefined): KubeObject {
  const { metadata, ...rest } = applyCreate(policy as DesiredObject);
  return { ...rest, metadata: { ...metadata, namespace: "team-a", uid: "uid-policy" } } as KubeObject;
}

test("a new template gets its label and the default policy", () => {
  const { labels, attachments } = answer();
  expect(labels).toEqual({ [HASH]: "0fceff97" });
  expect(attachments).toEqual([{
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    metadata: {
      name: "python-network-policy",
      annotations: { "agents.x-k8s.io/template-generation": "uid-python/1" },
    },
    spec: {
      podSelector: { matchLabels: { [HASH]: "0fceff97" } },
      policyTypes: ["Ingress", "Egress"],
      ingress: [{
        from: [{
          namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "agent-sandbox-system" } },
          podSelector: { matchLabels: { app: "sandbox-router" } },
        }],
      }],
      egress: [{
        to: [
          {
            ipBlock: {
              cidr: "0.0.0.0/0",
              except: ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16"],
            },
          },
          { ipBlock: { cidr: "::/0", except: ["fc00::/7", "fe80::/10"] } },
        ],
      }],
    },
  }]);
});

const rules = [
  {
    name: "rules of its own",
    reason: "they replace the default ones whole, in both directions",
    networkPolicy: { egress: [{ to: [{ ipBlock: { cidr: "1.2.3.4/32" } }] }] },
    want: { egress: [{ to: [{ ipBlock: { cidr: "1.2.3.4/32" } }] }] },
  },
  { name: "no rules at all", reason: "an empty object denies everything", networkPolicy: {}, want: {} },
  {
    name: "empty lists",
    reason: "the API server stores none, and both deny",
    networkPolicy: { ingress: [], egress: [] },
    want: {},
  },
  {
    name: "ports without a protocol",
    reason: "the API server would add it, and each sync would write",
    networkPolicy: { egress: [{ ports: [{ port: 53, protocol: "UDP" }, { port: 53 }] }] },
    want: { egress: [{ ports: [{ port: 53, protocol: "UDP" }, { port: 53, protocol: "TCP" }] }] },
  },
];

test.for(rules)("a template with $name", ({ networkPolicy, want, reason }) => {
  const [policy] = answer(aTemplate({ spec: { networkPolicy } })).attachments;
  const { podSelector: _, policyTypes: __, ...lists } = policy?.spec as Record<string, unknown>;
  expect(lists, reason).toEqual(want);
});

test("a policy that is as it should be causes no write", () => {
  const policy = stored(answer().attachments[0]);
  const [again] = answer(aTemplate(), [policy]).attachments;
  expect(sameJson(applyUpdate(policy, again as object), policy)).toBe(true);
});

test("whatever somebody changed or added is undone, in two updates", () => {
  const original = stored(answer().attachments[0]);
  const spec = original["spec"] as Record<string, object>;
  const drifted = {
    ...original,
    spec: {
      ...spec,
      podSelector: { matchLabels: { [HASH]: "0", extra: "1" }, matchExpressions: [{ key: "a", operator: "Exists" }] },
      policyTypes: ["Ingress"],
      ingress: [{}],
    },
  } as KubeObject;
  const first = applyUpdate(drifted, answer(aTemplate(), [drifted]).attachments[0] as object);
  const second = applyUpdate(first, answer(aTemplate(), [first]).attachments[0] as object);
  expect(second["spec"]).toEqual(spec);
});

const egress = (spec: object = {}) =>
  aTemplate({ metadata: { annotations: { "agents.x-k8s.io/egress-allow": "pypi.org" } }, spec });

test("a template with rules for the egress proxy lets its sandboxes reach the proxy alone", () => {
  const [policy] = answer(egress()).attachments;
  expect(policy?.spec).toMatchObject({ ingress: (answer().attachments[0]?.spec as { ingress: object }).ingress });
  expect(policy?.spec).toMatchObject({
    egress: [{
      to: [{
        podSelector: {
          matchLabels: { "app.kubernetes.io/name": "egress-proxy", "app.kubernetes.io/part-of": "hookbox" },
        },
      }],
      ports: [{ port: 3128, protocol: "TCP" }],
    }],
  });
  expect(policy?.metadata.annotations).toEqual({ "agents.x-k8s.io/template-generation": "uid-python/1/egress" });
});

test("if the template has rules of its own, they win", () => {
  const [policy] = answer(egress({ networkPolicy: {} })).attachments;
  expect(policy?.spec).not.toHaveProperty("egress");
  expect(policy?.metadata.annotations).toEqual({ "agents.x-k8s.io/template-generation": "uid-python/1" });
});

test.for([[aTemplate(), egress()], [egress(), aTemplate()]])("annotations that come or go, %#", ([before, after]) => {
  const old = stored(answer(before).attachments[0]);
  const first = applyUpdate(old, answer(after, [old]).attachments[0] as object);
  const second = applyUpdate(first, answer(after, [first]).attachments[0] as object);
  expect(first["spec"]).toEqual(stored(answer(after).attachments[0])["spec"]);
  expect(sameJson(second, first)).toBe(true);
});

test("Unmanaged deletes our policy, for a reason that the guard accepts, and keeps the label", () => {
  const policy = stored(answer().attachments[0]);
  const unmanaged = aTemplate({ spec: { networkPolicyManagement: "Unmanaged" } });
  expect(answer(unmanaged, [policy])).toEqual({ labels: { [HASH]: "0fceff97" }, attachments: [] });
});

test("an attachment of another name is kept as it is, and so is everything while the template is deleted", () => {
  const other = stored({
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    metadata: { name: "other" },
    spec: {},
  });
  const kept = answer(aTemplate(), [other]).attachments.find(({ metadata }) => metadata.name === "other");
  expect(sameJson(applyUpdate(other, kept as object), other)).toBe(true);
  const deleting = aTemplate({
    metadata: { deletionTimestamp: "2026-11-21T12:00:00Z" },
    spec: { networkPolicyManagement: "Unmanaged" },
  });
  expect(answer(deleting, [other]).attachments).toHaveLength(1);
});

const NAMESPACE = { apiVersion: "v1", kind: "Namespace", metadata: { name: "team-a", uid: "uid-team-a" } };
const RELATED = { "Namespace.v1": { "team-a": NAMESPACE } };
const owners = (template = aTemplate(), policies: KubeObject[] = []) => {
  const request = aTemplateRequest(template, policies, RELATED);
  const outcome = sandboxTemplateHook({ deniedEgressCidrs: [] }).sync(request, NOW);
  return (outcome as unknown as { answer: Decorated<never> }).answer.attachments[0];
};

test("it asks for the namespace, which owns the policy too: so the policy outlives the template", () => {
  const hook = sandboxTemplateHook({ deniedEgressCidrs: [] });
  expect(hook.customize?.({ parent: aTemplate() })).toEqual({
    relatedResources: [{ apiVersion: "v1", resource: "namespaces", names: ["team-a"] }],
  });
  expect(owners()?.metadata.ownerReferences).toMatchObject([
    { kind: "SandboxTemplate", name: "python", uid: "uid-python", controller: true },
    { apiVersion: "v1", kind: "Namespace", name: "team-a", uid: "uid-team-a" },
  ]);
});

test("a policy from before it had two owners keeps the one and gets the other, in one write", () => {
  const [old] = answer().attachments;
  const owner = { apiVersion: "extensions.agents.x-k8s.io/v1beta1", kind: "SandboxTemplate", name: "python" };
  const before = stored(old);
  before.metadata.ownerReferences = [{ ...owner, uid: "uid-python", controller: true, blockOwnerDeletion: true }];
  const after = applyUpdate(before, owners(aTemplate(), [before]) as object);
  expect(after.metadata.ownerReferences?.map(({ uid }) => uid)).toEqual(["uid-python", "uid-team-a"]);
  expect(sameJson(applyUpdate(after, owners(aTemplate(), [after]) as object), after)).toBe(true);
  // Where the namespace is not shown, nothing is taken away.
  expect(sameJson(applyUpdate(after, answer(aTemplate(), [after]).attachments[0] as object), after)).toBe(true);
});

test("the namespace of a template that is named like it is left to the keeper: the merge would lose the template", () => {
  expect(owners(aTemplate({ metadata: { name: "team-a" } }))?.metadata.ownerReferences).toBeUndefined();
});

test("a template whose name leaves no room for the contract's name of the policy gets a shorter one", () => {
  const name = "a".repeat(253);
  const [policy] = answer(aTemplate({ metadata: { name } })).attachments;
  expect(policy?.metadata.name).toMatch(/^a{229}-[0-9a-f]{8}-network-policy$/);
  expect(policy?.metadata.name).toHaveLength(253);
});

test("further networks are closed by the default rules, each in its family, and not by rules of a template's own", () => {
  const deniedEgressCidrs = cidrsOf("100.64.0.0/10, 168.63.129.16/32,10.0.0.0/8,64:ff9b::/96");
  const policyOf = (template = aTemplate()) => {
    const outcome = sandboxTemplateHook({ deniedEgressCidrs }).sync(aTemplateRequest(template), NOW);
    return JSON.stringify((outcome as unknown as { answer: Decorated<never> }).answer.attachments[0]);
  };
  expect(policyOf()).toContain(
    '"except":["10.0.0.0/8","172.16.0.0/12","192.168.0.0/16","169.254.0.0/16","100.64.0.0/10","168.63.129.16/32"]',
  );
  expect(policyOf()).toContain('"except":["fc00::/7","fe80::/10","64:ff9b::/96"]');
  expect(policyOf(aTemplate({ spec: { networkPolicy: { egress: [{}] } } }))).not.toContain("100.64.0.0");
});

test.for(["10.0.0.0", "10.0.0.0/33", "0.0.0.0/0", "::/0", "example.com", "10.0.0.0/8;11.0.0.0/8"])(
  "%s is no network to close",
  (text) => expect(() => cidrsOf(text)).toThrow("Cannot use --denied-egress-cidrs"),
);
