/** Why no sandbox of a template starts: its NetworkPolicy, in the diagnosis of the template, a pool and a claim. @module */
import { expect, test } from "vitest";
import type { Facts } from "../../../packages/api/diagnosis/facts.ts";
import { why } from "../../../packages/api/diagnosis/why.ts";
import { policyNotInForce } from "../../../packages/api/claims/problem.ts";
import { aPool } from "../../pools.ts";
import { aPolicy, aTemplate } from "../../templates.ts";
import { aCondition, claimFacts, KEY, NOW } from "./facts.ts";

const WORDS = 'NetworkPolicy "python-network-policy" does not exist: exceeded quota: q';
const problems = [{ kind: "NetworkPolicy", name: "python-network-policy", state: "refused", message: WORDS }];
const annotated = aTemplate({
  metadata: { annotations: { [KEY("unresolved")]: JSON.stringify({ generation: 1, problems }) } },
});
const full = { readyReplicas: 1, observedGeneration: 1 };
const pool = aPool({
  spec: { replicas: 1 },
  status: {
    ...full,
    conditions: [
      aCondition("NetworkPolicy", "False", "NetworkPolicyMissing", `${WORDS}; no sandbox of the template starts`),
    ],
  },
});
const TEMPLATE = { kind: "SandboxTemplate", namespace: "team-a", name: "python" } as const;
const POOL = { kind: "SandboxWarmPool", namespace: "team-a", name: "warm" } as const;
const claimSays = { status: { conditions: [aCondition("Ready", "False", ...told())] } };

function told(): [string, string] {
  const { reason, message } = policyNotInForce("python", WORDS);
  return [reason, message];
}

test.for<[string, Facts]>([
  ["a template, by the keeper's word", { subject: TEMPLATE, template: annotated, policy: null }],
  ["a full pool, by its condition", { subject: POOL, pool }],
  ["a pool, by its template", { subject: POOL, pool: aPool({}), template: annotated }],
  ["a claim, by its template", claimFacts(claimSays, { template: annotated })],
  ["a claim, by its pool", claimFacts(claimSays, { pool, template: aTemplate() })],
])("%s lacks the policy", ([, facts]) => {
  const found = why(facts, NOW);
  expect([found.code, found.isOk, found.object]).toEqual(["NetworkPolicyMissing", false, TEMPLATE]);
  expect(found.summary).toContain(WORDS);
});

test.for<[string, Facts, string]>([
  ["has", { subject: TEMPLATE, template: aTemplate(), policy: aPolicy() }, "in force"],
  [
    "wants none",
    { subject: TEMPLATE, template: aTemplate({ spec: { networkPolicyManagement: "Unmanaged" } }), policy: null },
    "to others",
  ],
])("nothing is wrong with a template that %s its policy", ([, facts, words]) => {
  const found = why(facts, NOW);
  expect([found.code, found.isOk, found.summary]).toEqual(["Ready", true, expect.stringContaining(words)]);
});

test("a template whose policy was not found yet by anybody but the caller says so", () => {
  const found = why({ subject: TEMPLATE, template: aTemplate(), policy: null }, NOW);
  expect([found.code, found.evidence[0]?.text]).toEqual([
    "NetworkPolicyMissing",
    'NetworkPolicy "python-network-policy" does not exist',
  ]);
});

test("nothing is wrong with a template that is seconds old and whose policy is still to come", () => {
  const young = aTemplate({ metadata: { creationTimestamp: new Date(NOW.getTime() - 3000).toISOString() } });
  expect(why({ subject: TEMPLATE, template: young, policy: null }, NOW).code).toBe("Starting");
  const refused = aTemplate({ metadata: { ...young.metadata, annotations: annotated.metadata.annotations } });
  expect(why({ subject: TEMPLATE, template: refused, policy: null }, NOW).code).toBe("NetworkPolicyMissing");
});
