/** Why a claim is as it is that sets a variable whose name the API server refuses, or one variable twice. @module */
import { expect, test } from "vitest";
import type { Facts } from "../../../packages/api/diagnosis/facts.ts";
import { why } from "../../../packages/api/diagnosis/why.ts";
import { aSandbox } from "../../sandboxes.ts";
import { aTemplate } from "../../templates.ts";
import { aCondition, type Case, claimFacts, expectCause, JOB, KEY, NOW } from "./facts.ts";

type Variable = { name: string; value: string; containerName?: string };

const PLAIN = { name: "PLAIN", value: "1" };
/** The Sandbox of a claim, whose Pod the API server refuses because of this field. */
function refused(field: string, env: Variable[], ofContainers: Variable[][]): Facts {
  const message = `Error seen: Pod "job" is invalid: ${field}: Invalid value: "A=B": a valid name has no '='`;
  const conditions = [aCondition("Ready", "False", "InvalidConfiguration", message)];
  const containers = ofContainers.map((own, n) => ({ name: `c${n}`, image: "x", env: own }));
  const metadata = {
    name: "job",
    labels: { [KEY("claim-uid")]: "uid-job" },
    annotations: { [KEY("sandbox-template-ref")]: "python" },
    ownerReferences: [{ apiVersion: "v1", kind: "SandboxClaim", name: "job", uid: "uid-job", controller: true }],
  };
  return claimFacts({}, {
    claim: {
      ...claimFacts({}).claim!,
      spec: { warmPoolRef: { name: "warm" }, env },
      status: { conditions, sandbox: { name: "job" } },
    },
    sandbox: aSandbox({ metadata, spec: { podTemplate: { spec: { containers } } }, status: { conditions } }),
  });
}

const BAD = { name: "A=B", value: "1" };
const CLAIM = ["SandboxClaim/job", 'spec.env[1].name of SandboxClaim "job", then recreate the claim.'] as const;
const TEMPLATE = ["Sandbox/job", 'of SandboxTemplate "python".'] as const;

test.for<[name: string, facts: Facts, want: readonly [culprit: string, remedy: string]]>([
  [
    "a variable of the claim",
    refused("spec.containers[0].env[2].name", [PLAIN, BAD], [[{ name: "T", value: "" }, PLAIN, BAD]]),
    CLAIM,
  ],
  [
    "a variable of the claim, among other faults",
    refused("[spec.containers[0].env[0].name", [PLAIN, { ...BAD, containerName: "c0" }], [[BAD]]),
    CLAIM,
  ],
  [
    "an empty name",
    refused("spec.containers[0].env[0].name", [PLAIN, { name: "", value: "" }], [[{ name: "", value: "" }]]),
    CLAIM,
  ],
  ["a variable of the template", refused("spec.containers[0].env[0].name", [PLAIN], [[BAD, PLAIN]]), TEMPLATE],
  [
    "a variable of the template, in another container",
    refused("spec.containers[1].env[0].name", [PLAIN, BAD], [[], [BAD]]),
    TEMPLATE,
  ],
  ["another field", refused("spec.containers[0].image", [PLAIN, BAD], [[BAD]]), TEMPLATE],
  ["a claim without variables", refused("spec.containers[0].env[0].name", [], [[BAD]]), TEMPLATE],
])("%s: who is to blame", ([, facts, [culprit, remedy]]) => {
  expectCause({ name: "", facts, want: ["InvalidConfiguration", culprit, true], says: "is invalid" });
  expect(why(facts, NOW).remedy).toContain(remedy);
});

test("the Sandbox alone does not show who sets the variable", () => {
  const { claim: _, ...facts } = refused("spec.containers[0].env[0].name", [BAD], [[BAD]]);
  const { remedy } = why({ ...facts, subject: { ...JOB, kind: "Sandbox" } }, NOW);
  const field = "spec.podTemplate.spec.containers[0].env[0].name";
  expect(remedy).toBe(`Correct ${field} of SandboxTemplate "python", or spec.env of SandboxClaim "job".`);
});

test("a claim that sets one variable twice, and whose template does not set it", () => {
  const template = aTemplate({ spec: { envVarsInjectionPolicy: "Allowed" } });
  const facts = claimFacts({ spec: { env: [PLAIN, PLAIN] } }, { subject: JOB, template });
  const says = 'spec.env of the claim lists variable "PLAIN" of container "main" twice';
  expectCause({ name: "", facts, want: ["ClaimRejected", "SandboxClaim/job", true], says } satisfies Case);
});
