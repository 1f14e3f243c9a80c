/** Why a claim that has a Sandbox is not Ready though that Sandbox is: the Sandbox cannot follow the claim. @module */
import { expect, test } from "vitest";
import { refusedWriteProblem, refusedWriteText } from "../../../packages/api/keeperreports.ts";
import { why } from "../../../packages/api/diagnosis/why.ts";
import { aCondition, ago, type Case, claimFacts, expectCause, JOB, KEY, NOW } from "./facts.ts";
import { aSandbox } from "../../sandboxes.ts";

const says = (reason: string, message = reason) => ({
  sandbox: { name: "demo" },
  conditions: [aCondition("Ready", "False", reason, message)],
});
const WORDS =
  `can't update Sandbox team-a/demo: sandboxes.agents.x-k8s.io "demo" is forbidden: ValidatingAdmissionPolicy 'freeze' ` +
  "with binding 'freeze' denied request: change freeze until Monday";

/** The claim's Sandbox, Ready; with the keeper's report if `verb` is given. */
const boundTo = (verb?: "update" | "delete", uid = "uid-job") =>
  aSandbox({
    metadata: {
      creationTimestamp: ago(100),
      annotations: verb ? { [KEY("refused-write")]: refusedWriteText({ verb, words: WORDS }) } : {},
      ownerReferences: [{
        ...{ apiVersion: "extensions.agents.x-k8s.io/v1beta1", kind: "SandboxClaim", name: "job" },
        ...{ uid, controller: true },
      }],
    },
    status: { conditions: [aCondition("Ready", "True", "DependenciesReady")] },
  });
const messageOf = (verb: "update" | "delete") => refusedWriteProblem(boundTo(verb).metadata, verb)?.message ?? "";
const FROZEN = {
  want: ["AdmissionPolicyDenied", "ValidatingAdmissionPolicy/freeze", true] as Case["want"],
  says: "change freeze until Monday",
};
const NOT_YET = {
  want: ["Starting", "SandboxClaim/job", false] as Case["want"],
  says: "does not show yet",
};
const INVALID = 'invalid additionalPodMetadata: failed to validate label "x": the key must have a domain prefix';
const CONFLICT = 'Error seen: metadata override conflict: label "x" is defined in template with value "a", but claim ' +
  'requests "exceeded quota: q"';

const cases: Case[] = [
  {
    name: "a Sandbox that an admission policy does not let change, before the claim says so",
    facts: claimFacts({ status: says("DependenciesNotReady") }, { sandbox: boundTo("update") }),
    ...FROZEN,
  },
  {
    name: "the same, as the claim says",
    facts: claimFacts({ status: says("ReconcilerError", messageOf("update")) }, { sandbox: boundTo("update") }),
    ...FROZEN,
  },
  {
    name: "the same, and the Sandbox could not be read",
    facts: (({ sandbox: _, ...facts }) => facts)(claimFacts({
      status: says("ReconcilerError", messageOf("update")),
    })),
    ...FROZEN,
  },
  {
    name: "an expired claim whose Sandbox cannot be deleted because of an admission policy",
    facts: claimFacts({ status: says("ClaimExpired", `Claim expired. ${messageOf("delete")}`) }, {
      sandbox: boundTo("delete"),
    }),
    ...FROZEN,
  },
  {
    name: "a report on a Sandbox that another claim controls",
    facts: claimFacts({ status: says("DependenciesNotReady") }, { sandbox: boundTo("update", "uid-another") }),
    ...NOT_YET,
  },
  {
    name: "a Sandbox that has reported what its claim does not show yet",
    facts: claimFacts({ status: says("ReconcilerError", "Error seen: exceeded quota: q") }, { sandbox: boundTo() }),
    ...NOT_YET,
  },
  {
    name: "metadata that is not valid",
    facts: claimFacts({ status: says("InvalidMetadata", INVALID) }, { sandbox: boundTo() }),
    want: ["InvalidMetadata", "SandboxClaim/job", true],
    says: 'failed to validate label "x"',
  },
  {
    name: "metadata that contradicts the template's, whatever its values say",
    facts: claimFacts({ status: says("ReconcilerError", CONFLICT) }, { sandbox: boundTo() }),
    want: ["ClaimRejected", "SandboxClaim/job", true],
    says: 'label "x" is defined in template',
  },
];

test.for(cases)("why: $name", expectCause);

test("the evidence is what the claim says, or else the report on its Sandbox", () => {
  const evidenceFor = (status: object) =>
    why(claimFacts({ status }, { sandbox: boundTo("update") }), NOW).evidence.map(({ object, where }) =>
      `${object.kind} ${where}`
    );
  expect(evidenceFor(says("ReconcilerError", messageOf("update")))).toEqual(["SandboxClaim status.conditions[Ready]"]);
  expect(evidenceFor(says("DependenciesNotReady"))).toEqual([
    "Sandbox metadata.annotations[agents.x-k8s.io/refused-write]",
  ]);
});

test("a claim that is Ready is well, though its Sandbox still has a report", () => {
  const status = { sandbox: { name: "demo" }, conditions: [aCondition("Ready", "True", "DependenciesReady")] };
  expect(why(claimFacts({ status }, { sandbox: boundTo("update") }), NOW)).toMatchObject({ isOk: true, object: JOB });
});

test.for([["InvalidMetadata", INVALID], ["ReconcilerError", CONFLICT]] as const)(
  "the remedy for %s is to change the claim that there is, and the cause does not go away by itself",
  ([reason, message]) => {
    const { remedy, hopeless } = why(claimFacts({ status: says(reason, message) }, { sandbox: boundTo() }), NOW);
    expect([remedy, hopeless]).toEqual([
      "Change spec.additionalPodMetadata of the claim: kubectl edit sandboxclaim job -n team-a.",
      true,
    ]);
  },
);
