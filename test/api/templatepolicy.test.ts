import { expect, test } from "vitest";
import {
  isLeftBehind,
  outlivesTemplate,
  policyFault,
  policyMessage,
  policyName,
  policyToKeep,
} from "../../packages/api/templatepolicy.ts";
import { aPolicy, aTemplate } from "../templates.ts";

test("policyName() is the contract's where a name may be as long, and is never longer", () => {
  expect(policyName("python")).toBe("python-network-policy");
  expect(policyName("a".repeat(238))).toBe(`${"a".repeat(238)}-network-policy`);
  const [first, second] = [`${"a".repeat(238)}b`, `${"a".repeat(238)}c`].map(policyName);
  expect(first).toHaveLength(253);
  expect(first).not.toBe(second);
  expect(policyName(`${"a".repeat(228)}.${"b".repeat(20)}`)).toMatch(/^a{228}-[0-9a-f]{8}-network-policy$/);
});

const owned = (over: object) =>
  aPolicy({
    metadata: {
      ownerReferences: [{
        ...{ apiVersion: "extensions.agents.x-k8s.io/v1beta1", kind: "SandboxTemplate", name: "python" },
        ...{ uid: "uid-python", controller: true, ...over },
      }],
    },
  });
const stamped = (stamp: string) =>
  aPolicy({ metadata: { annotations: { "agents.x-k8s.io/template-generation": stamp } } });

test.for(
  [
    ["as the hook makes it", aPolicy(), undefined],
    ["from before it said which rules it has", aPolicy({ metadata: { annotations: {} } }), undefined],
    ["absent", undefined, "missing"],
    ["being deleted", aPolicy({ metadata: { deletionTimestamp: "2026-11-21T12:00:00Z" } }), "missing"],
    ["nobody's", aPolicy({ metadata: { ownerReferences: [] } }), "taken"],
    ["an earlier template's", owned({ uid: "uid-before" }), "taken"],
    ["of an earlier generation", stamped("uid-python/0"), "outdated"],
    ["of an earlier template's rules", stamped("uid-before/1"), "outdated"],
    ["for other Pods", aPolicy({ spec: { podSelector: { matchLabels: { a: "b" } } } }), "outdated"],
    ["for fewer Pods", narrowed({ matchLabels: { extra: "1" } }), "outdated"],
    [
      "for fewer Pods, by an expression",
      narrowed({ matchExpressions: [{ key: "a", operator: "Exists" }] }),
      "outdated",
    ],
  ] as const,
)("a policy that is %s is judged so", ([, policy, state]) => {
  expect(policyFault(aTemplate(), policy)?.state).toBe(state);
});

const PROXY_ONLY = { metadata: { annotations: { "agents.x-k8s.io/egress-headers": "" } } };
test.for<[string, object, string | undefined, string | undefined]>([
  ["the proxy's rules", PROXY_ONLY, "uid-python/1/egress", undefined],
  ["the default rules", PROXY_ONLY, "uid-python/1", "outdated"],
  ["rules from before there was a proxy", PROXY_ONLY, undefined, "outdated"],
  ["the template's own rules", { ...PROXY_ONLY, spec: { networkPolicy: {} } }, "uid-python/1", undefined],
  ["the proxy's rules, without annotations", {}, "uid-python/1/egress", "outdated"],
])("for a template with rules for the egress proxy: %s", ([, template, stamp, state]) => {
  const policy = stamp === undefined ? aPolicy({ metadata: { annotations: {} } }) : stamped(stamp);
  expect(policyFault(aTemplate(template), policy)?.state).toBe(state);
});

function narrowed({ matchLabels, ...more }: { matchLabels?: object; matchExpressions?: object[] }) {
  const hash = { "agents.x-k8s.io/sandbox-template-ref-hash": "0fceff97" };
  return aPolicy({ spec: { podSelector: { matchLabels: { ...hash, ...matchLabels }, ...more } } });
}

test("an Unmanaged template has no policy that could be missing", () => {
  expect(policyFault(aTemplate({ spec: { networkPolicyManagement: "Unmanaged" } }), undefined)).toBeUndefined();
});

test("policyMessage() prefers what the keeper has found out", () => {
  const fault = policyFault(aTemplate(), undefined);
  const problems = [{ kind: "NetworkPolicy", name: "n", state: "refused", message: "exceeded quota" }];
  const annotations = { "agents.x-k8s.io/unresolved": JSON.stringify({ generation: 1, problems }) };
  expect(policyMessage(aTemplate(), fault!)).toBe('NetworkPolicy "python-network-policy" does not exist');
  expect(policyMessage(aTemplate({ metadata: { annotations } }), fault!)).toBe("exceeded quota");
});

test("policyToKeep() reads a policy as lists have it, without apiVersion and kind", () => {
  const { apiVersion: _, kind: __, ...listed } = aPolicy();
  expect(policyToKeep(listed)).toEqual(policyToKeep(aPolicy()));
});

test("policyToKeep() keeps what is read of a policy, however long that is", () => {
  const long = aPolicy({ spec: { egress: Array.from({ length: 1000 }, () => ({})) } });
  const kept = policyToKeep(long);
  expect(JSON.stringify(kept).length).toBeLessThan(1000);
  expect(policyFault(aTemplate(), kept)).toBeUndefined();
  expect([outlivesTemplate(kept!.metadata), policyToKeep("x")]).toEqual([true, undefined]);
});

test.for(
  [
    ["no controller", aPolicy({ metadata: { ownerReferences: [] } }), true],
    ["an earlier template of the name", owned({ uid: "uid-before" }), true],
    ["the template itself", aPolicy(), false],
    ["another template", owned({ uid: "uid-other", name: "other" }), false],
    ["another kind", owned({ uid: "uid-other", kind: "SandboxWarmPool" }), false],
    ["no controller, and is not the hook's", aPolicy({ metadata: { ownerReferences: [], annotations: {} } }), false],
  ] as const,
)("a policy that has %s is left behind or not", ([, policy, is]) => {
  expect(isLeftBehind(policy, aTemplate().metadata)).toBe(is);
});
