/** `why` for objects that are too large for Metacontroller's annotation: it names the object to make smaller, and the limits. @module */
import { expect, test } from "vitest";
import { refusedWriteProblem, refusedWriteText } from "../../../packages/api/keeperreports.ts";
import { creationRefused } from "../../../packages/api/claims/problem.ts";
import type { Facts } from "../../../packages/api/diagnosis/facts.ts";
import { why } from "../../../packages/api/diagnosis/why.ts";
import { withLimit } from "../../../packages/api/objects/size.ts";
import type { SandboxClaim } from "../../../packages/api/sandboxclaim.ts";
import { aPool } from "../../pools.ts";
import { aSandbox } from "../../sandboxes.ts";
import { aTemplate } from "../../templates.ts";
import { aCondition, anEvent, claimFacts, KEY, NOW } from "./facts.ts";

const WORDS =
  'Sandbox.agents.x-k8s.io "demo" is invalid: [metadata.annotations: Too long: may not be more than 262144 ' +
  "bytes, <nil>: Invalid value: null: some validation rules were not checked]";
const LIMIT = "what a claim adds to them 80 KiB";
const TEMPLATE = 'Correct what the evidence names in SandboxTemplate "python"';

const adds: SandboxClaim["spec"] = {
  warmPoolRef: { name: "warm" },
  additionalPodMetadata: { annotations: { "example.com/notes": "long" } },
};

/** Facts of the claim `job` for which no Sandbox can be made. */
const refusedCreation = (spec?: SandboxClaim["spec"]): Facts => {
  const { reason, message } = creationRefused(WORDS);
  const status = { conditions: [aCondition("Ready", "False", reason, message)] };
  return claimFacts({ status, ...(spec ? { spec } : {}) });
};

const refusedUpdate = (): Facts => {
  const annotations = { [KEY("refused-write")]: refusedWriteText({ verb: "update", words: WORDS }) };
  const sandbox = aSandbox({ metadata: { annotations } });
  const { reason = "", message = "" } = refusedWriteProblem(sandbox.metadata, "update") ?? {};
  const status = { sandbox: { name: "demo" }, conditions: [aCondition("Ready", "False", reason, message)] };
  return claimFacts({ spec: adds, status }, { sandbox });
};

const refusedMembers = (): Facts => ({
  subject: { kind: "SandboxWarmPool", namespace: "team-a", name: "warm" },
  pool: aPool({ status: { observedGeneration: 1, conditions: [aCondition("Progressing", "True", "Filling")] } }),
  template: aTemplate(),
  members: [],
  events: [anEvent("SyncError", `Sync error: ${WORDS}`, "SandboxWarmPool", "warm")],
});

test.for(
  [
    [
      "a claim whose Sandbox cannot follow it",
      refusedUpdate(),
      'Correct what the evidence names in SandboxClaim "job".',
    ],
    ["a claim that adds to its template", refusedCreation(adds), `${TEMPLATE}, or what SandboxClaim "job" adds to it.`],
    ["a claim that adds nothing", refusedCreation(), `${TEMPLATE}.`],
    ["a pool", refusedMembers(), `${TEMPLATE}.`],
  ] as const,
)("%s", ([, facts, remedy]) => {
  const found = why(facts, NOW);
  expect([found.code, found.remedy]).toEqual(["InvalidConfiguration", remedy]);
  expect(found.summary.split(LIMIT)).toHaveLength(2);
});

test("a claim's condition says which limits hold", () => {
  expect(refusedUpdate().claim?.status?.conditions?.[0]?.message).toContain(LIMIT);
});

test("the limits are named once", () => {
  expect(withLimit(withLimit(WORDS)).split(LIMIT)).toHaveLength(2);
});
