/** Why a claim is as it is whose Sandbox the API server does not let be changed or deleted. @module */
import { test } from "vitest";
import { writeRefused } from "../../../packages/api/claims/refusedwrite.ts";
import { aClaim } from "../../pools.ts";
import { aCondition, type Case, claimFacts, expectCause, KEY } from "./facts.ts";

const says = (reason: string, message = reason) => ({
  sandbox: { name: "demo" },
  conditions: [aCondition("Ready", "False", reason, message)],
});
const word = (reason: string, message: string) => ({
  metadata: { annotations: { [KEY("unresolved")]: JSON.stringify({ generation: 1, reason, message }) } },
});
const FROZEN = writeRefused(
  "update",
  "demo",
  `can't update Sandbox team-a/demo: sandboxes.agents.x-k8s.io "demo" is forbidden: ValidatingAdmissionPolicy 'freeze' ` +
    "with binding 'freeze' denied request: change freeze until Monday",
);

const cases: Case[] = [
  {
    name: "a Sandbox that an admission policy does not let change",
    facts: claimFacts({}, {
      claim: aClaim("job", { ...word("ReconcilerError", FROZEN.message), status: says("X") }),
    }),
    want: ["AdmissionPolicyDenied", "ValidatingAdmissionPolicy/freeze", true],
    says: "change freeze until Monday",
  },
  {
    name: "an expired claim whose Sandbox an admission policy does not let go",
    facts: claimFacts({}, {
      claim: aClaim("job", {
        ...word("ReconcilerError", FROZEN.message),
        status: says("ClaimExpired", `Claim expired. ${FROZEN.message}`),
      }),
    }),
    want: ["AdmissionPolicyDenied", "ValidatingAdmissionPolicy/freeze", true],
    says: "change freeze until Monday",
  },
];

test.for(cases)("why: $name", expectCause);
