/** Why a pool is as it is: its template, its worst member, its hook. @module */
import { expect, test } from "vitest";
import type { Sandbox } from "../../../packages/api/sandbox.ts";
import type { Facts } from "../../../packages/api/diagnosis/facts.ts";
import { sandboxCause, worstMember } from "../../../packages/api/diagnosis/sandboxcause.ts";
import { why } from "../../../packages/api/diagnosis/why.ts";
import { aMember, aPool, type Over, type Seen } from "../../pools.ts";
import { aTemplate } from "../../templates.ts";
import { aCondition, ago, anEvent, type Case, expectCause, NOW } from "./facts.ts";

const SUBJECT = { kind: "SandboxWarmPool", namespace: "team-a", name: "warm" } as const;
const filling = { observedGeneration: 1, conditions: [aCondition("Progressing", "True", "Filling")] };
const of = (pool: Over, more: Partial<Facts> = {}): Facts => ({
  subject: SUBJECT,
  pool: aPool({ status: filling, metadata: { creationTimestamp: ago(60) }, ...pool }),
  template: aTemplate(),
  members: [],
  ...more,
});
const members = (...states: Seen["state"][]): Sandbox[] =>
  states.map((state, index) => aMember(index + 1, { age: 1, ...(state ? { state } : {}) }));
const refused = (message: string) => [anEvent("SyncError", message, "SandboxWarmPool", "warm")];

const cases: Case[] = [
  {
    name: "nothing",
    facts: of({}, { pool: null }),
    want: ["NotFound", "SandboxWarmPool/warm", true],
    says: "does not exist",
  },
  {
    name: "no template",
    facts: of({}, { template: null }),
    want: ["TemplateNotFound", "SandboxTemplate/python", true],
    says: '"python"',
  },
  {
    name: "no template, by the condition alone",
    facts: {
      subject: SUBJECT,
      pool: aPool({ status: { conditions: [aCondition("Progressing", "False", "TemplateNotFound")] } }),
    },
    want: ["TemplateNotFound", "SandboxTemplate/python", true],
    says: '"python"',
  },
  {
    name: "a member that cannot be deleted because of an admission policy, though the pool is full",
    facts: of({
      spec: { replicas: 0 },
      metadata: {
        annotations: {
          "agents.x-k8s.io/unresolved": JSON.stringify({
            generation: 1,
            problems: [{
              ...{ kind: "Sandbox", name: "warm-1", state: "stuck" },
              message: `cannot delete Sandbox "warm-1": sandboxes.agents.x-k8s.io "warm-1" is forbidden: ` +
                "ValidatingAdmissionPolicy 'freeze' with binding 'freeze' denied request: change freeze until Monday",
            }],
          }),
        },
      },
    }),
    want: ["AdmissionPolicyDenied", "ValidatingAdmissionPolicy/freeze", true],
    says: "change freeze until Monday",
  },
  { name: "nothing yet", facts: of({}), want: ["Starting", "SandboxWarmPool/warm", false], says: "0 of 3" },
  {
    name: "a member's quota",
    facts: of({}, { members: members("ready", "coming", "overQuota") }),
    want: ["QuotaExceeded", "ResourceQuota/small", true],
    says: "small",
  },
  {
    name: "no member may be made",
    facts: of({}, { events: refused("Sync error: exceeded quota: q, requested: a=1") }),
    want: ["QuotaExceeded", "ResourceQuota/q", true],
    says: "requested: a=1",
  },
  {
    name: "what ails a member, before that no others can be made",
    facts: of({}, { members: members("invalid"), events: refused("Sync error: exceeded quota: q, requested: a=1") }),
    want: ["InvalidConfiguration", "Sandbox/warm-1", true],
    says: "bad name",
  },
  {
    name: "nobody has looked at it",
    facts: of({ status: { observedGeneration: 0, readyReplicas: 0, conditions: [] } }),
    want: ["ControllerSilent", "SandboxWarmPool/warm", false],
    says: "yet",
  },
  {
    name: "it is being deleted",
    facts: of({ metadata: { deletionTimestamp: ago(3), finalizers: ["example.com/hold"] } }),
    want: ["BeingDeleted", "SandboxWarmPool/warm", false],
    says: "being deleted, and waits for the finalizers example.com/hold",
  },
];

test.for(cases)("$name: $want.0", expectCause);

test("a pool that has what it should is well; one of no members, too", () => {
  const full = { observedGeneration: 1, readyReplicas: 3, conditions: [aCondition("Progressing", "True", "Full")] };
  expect(why(of({ status: full }, { template: null }), NOW)).toMatchObject({
    code: "Ready",
    isOk: true,
    object: SUBJECT,
  });
  expect(why(of({ spec: { replicas: 0 } }), NOW).code).toBe("Ready");
});

test("worstMember() prefers the cause that explains most, and of equal ones the first by name", () => {
  const all = members("ready", "coming", "unschedulable", "overQuota", "overQuota");
  expect(worstMember(all)?.metadata.name).toBe(all[3]?.metadata.name);
  expect(worstMember(all.slice(0, 2))?.metadata.name).toBe(all[1]?.metadata.name);
  expect(worstMember(all.slice(0, 1))).toBeUndefined();
  expect(sandboxCause(all[1] as Sandbox)).toBeUndefined();
});
