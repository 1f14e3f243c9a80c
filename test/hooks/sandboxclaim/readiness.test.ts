/** Ready and Finished of a claim: every rule, and which of two that both hold decides. @module */
import { expect, test } from "vitest";
import { computeStatus, readyCondition } from "../../../hooks/sandboxclaim/status.ts";
import { findCondition } from "../../../packages/api/objects/conditions.ts";
import { aBoundClaim, aClaim, aClaimed, aCondition, after } from "../../claimbuilders.ts";
import { NOW } from "../../sandboxes.ts";

const PROBLEM = { reason: "EnvVarsInjectionRejected", message: "not here" } as const;
const ready = (...condition: [string, string, string]) => ({ conditions: [aCondition("Ready", ...condition)] });

const cases = [
  {
    name: "expired",
    reason: "nothing else counts",
    isExpired: true,
    problem: PROBLEM,
    sandbox: aClaimed(),
    want: ["False", "ClaimExpired", "Claim expired. Sandbox cleanup initiated."],
  },
  {
    name: "expired, without a Sandbox",
    reason: "it has been cleaned up",
    isExpired: true,
    want: ["False", "ClaimExpired", "Claim expired. Sandbox cleanup initiated."],
  },
  {
    name: "a problem",
    reason: "the claim's own fault outranks how the Sandbox is",
    problem: PROBLEM,
    sandbox: aClaimed(),
    want: ["False", "EnvVarsInjectionRejected", "not here"],
  },
  {
    name: "a problem, without a Sandbox",
    reason: "it says why there is none",
    problem: PROBLEM,
    want: ["False", "EnvVarsInjectionRejected", "not here"],
  },
  { name: "no Sandbox", reason: "none yet", want: ["False", "SandboxMissing", "Sandbox does not exist"] },
  {
    name: "a Sandbox that goes, and says Ready",
    reason: "a client that reads Ready would talk to a Pod that ends",
    sandbox: aClaimed({ metadata: { deletionTimestamp: after(-1) } }),
    want: ["False", "SandboxNotReady", "Sandbox is being deleted"],
  },
  {
    name: "a Sandbox that has expired",
    reason: "the claim has words of its own for it",
    sandbox: aClaimed({ status: ready("False", "SandboxExpired", "Sandbox has expired") }),
    want: ["False", "SandboxExpired", "Underlying Sandbox resource has expired independently of the Claim."],
  },
  {
    name: "a Sandbox that is Ready without an address",
    reason: "Ready promises that the first request gets through",
    sandbox: aClaimed({ status: { ...ready("True", "DependenciesReady", "Pod is Ready"), podIPs: [] } }),
    want: ["False", "SandboxNotReady", "Sandbox is not ready"],
  },
  {
    name: "a Sandbox that is Ready",
    reason: "word for word",
    sandbox: aClaimed(),
    want: ["True", "DependenciesReady", "Pod is Ready"],
  },
  {
    name: "a Sandbox that is not Ready",
    reason: "word for word",
    sandbox: aClaimed({ status: ready("False", "DependenciesNotReady", "Pod exists with phase: Pending") }),
    want: ["False", "DependenciesNotReady", "Pod exists with phase: Pending"],
  },
  {
    name: "a Sandbox that nobody knows",
    reason: "Unknown is copied, too",
    sandbox: aClaimed({ status: ready("Unknown", "Odd", "") }),
    want: ["Unknown", "Odd", ""],
  },
  {
    name: "a suspended Sandbox",
    reason: "Suspended itself is not mirrored, this is how it shows",
    sandbox: aClaimed({ status: ready("False", "SandboxSuspended", "Sandbox is suspended") }),
    want: ["False", "SandboxSuspended", "Sandbox is suspended"],
  },
  {
    name: "a Sandbox without a Ready condition",
    reason: "no hook has looked at it yet",
    sandbox: aClaimed({ status: { conditions: [] } }),
    want: ["False", "SandboxNotReady", "Sandbox is not ready"],
  },
];

test.for(cases)("$name: $reason", ({ sandbox, isExpired = false, problem, want }) => {
  const condition = readyCondition({ claim: aClaim(), sandbox, isExpired, problem }, NOW);
  expect([condition.status, condition.reason, condition.message]).toEqual(want);
  expect([condition.type, condition.observedGeneration]).toEqual(["Ready", 3]);
});

test("a copied Ready has the Sandbox's time, the claim's generation, and nothing else of the Sandbox's", () => {
  const theirs = { ...aCondition("Ready", "True", "DependenciesReady"), observedGeneration: 9, extra: "x" };
  const sandbox = aClaimed({ status: { conditions: [theirs] } });
  expect(readyCondition({ claim: aClaim(), sandbox, isExpired: false, problem: undefined }, NOW)).toStrictEqual({
    type: "Ready",
    status: "True",
    reason: "DependenciesReady",
    message: "DependenciesReady",
    observedGeneration: 3,
    lastTransitionTime: after(-60),
  });
});

test("a Ready of the claim's own gets the time of now when the status flips, and keeps it while it does not", () => {
  const situation = { sandbox: undefined, isExpired: false, problem: undefined };
  const flipped = readyCondition({ claim: aBoundClaim(), ...situation }, NOW);
  expect(flipped.lastTransitionTime).toBe(after(0));
  const claim = aClaim({ status: { conditions: [flipped] } });
  const later = readyCondition({ claim, ...situation, isExpired: true }, new Date(NOW.getTime() + 60_000));
  expect(later).toMatchObject({ reason: "ClaimExpired", lastTransitionTime: after(0) });
});

const FINISHED = { ...aCondition("Finished", "True", "PodSucceeded"), observedGeneration: 9 };
const OWN = { ...FINISHED, reason: "PodFailed" };

test.for([
  { name: "the Sandbox's, its generation included", sandbox: [FINISHED], own: [OWN], want: FINISHED },
  { name: "none where the Sandbox has none", sandbox: [], own: [OWN] },
  { name: "none where the Sandbox has none, expired or not", sandbox: [], own: [OWN], isExpired: true },
  { name: "the claim's own where the Sandbox is gone after expiry", own: [OWN], isExpired: true, want: OWN },
  { name: "none where the Sandbox is gone without expiry", own: [OWN] },
])("Finished is $name", ({ sandbox, own, isExpired = false, want }) => {
  const claim = aClaim({ status: { conditions: own } });
  const given = sandbox && aClaimed({ status: { conditions: sandbox } });
  const { conditions } = computeStatus({ claim, sandbox: given, isExpired, problem: undefined }, NOW);
  expect(findCondition(conditions, "Finished")).toEqual(want);
});
