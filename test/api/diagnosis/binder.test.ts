/** A claim that nobody serves, and that has no status therefore: what the binder's Lease says of that. @module */
import { expect, test } from "vitest";
import { nameTaken } from "../../../packages/api/claims/problem.ts";
import type { Facts, LeaseFact } from "../../../packages/api/diagnosis/facts.ts";
import { why } from "../../../packages/api/diagnosis/why.ts";
import type { Over } from "../../pools.ts";
import {
  aCondition,
  ago,
  aPod,
  aWaitingSandbox,
  type Case,
  claimFacts,
  expectCause,
  KEY,
  NOW,
  waiting,
} from "./facts.ts";

const says = (reason: string, message = reason) => ({ conditions: [aCondition("Ready", "False", reason, message)] });
const aged = (seconds: number, status?: object): Over => ({
  metadata: { creationTimestamp: ago(seconds) },
  ...status && { status },
});
const of = (claim: Over, binder: LeaseFact | null | undefined, more: Partial<Facts> = {}): Facts =>
  claimFacts(claim, { ...binder === undefined ? {} : { binder }, ...more });
/** A Lease, renewed so many seconds ago. */
const aLease = (seconds: number, holderIdentity = "b1", leaseDurationSeconds = 5): LeaseFact => ({
  metadata: { namespace: "hookbox-system", name: "hookbox-binder" },
  spec: { holderIdentity, renewTime: ago(seconds), leaseDurationSeconds },
});
const forClaim = aWaitingSandbox({ metadata: { labels: { [KEY("claim-uid")]: "uid-job" } } });
const badImage = aPod({ containerStatuses: [waiting("InvalidImageName")] });

const DOWN = { want: ["BinderDown", "Lease/hookbox-binder", false] as Case["want"], says: "nobody holds" };
const UNKNOWN = {
  want: ["ControllerSilent", "SandboxClaim/job", false] as Case["want"],
  says: "has not reconciled",
};
const YOUNG = { want: ["Starting", "SandboxClaim/job", false] as Case["want"], says: "waits for a Sandbox" };
const IMAGE = { want: ["InvalidImageName", "Pod/demo", true] as Case["want"], says: "not a valid image name" };

const cases: Case[] = [
  { name: "there is no Lease", facts: of(aged(60), null), ...DOWN },
  { name: "it was not renewed", facts: of(aged(11), aLease(11)), ...DOWN },
  { name: "it was given back", facts: of(aged(60), aLease(1, "")), ...DOWN },
  {
    name: "the claim's name is taken, too",
    facts: of(aged(60), aLease(11), { sandbox: aWaitingSandbox({ metadata: { name: "job" } }) }),
    ...DOWN,
  },
  {
    name: "the claim's condition says that its name is taken",
    facts: of(aged(60, says("ReconcilerError", nameTaken("job").message)), aLease(11), {
      sandbox: aWaitingSandbox({ metadata: { name: "job" } }),
    }),
    want: ["SandboxNameTaken", "Sandbox/job", true],
    says: "somebody else's",
  },
  { name: "the claim has lost its Sandbox", facts: of(aged(60, says("SandboxMissing")), aLease(11)), ...DOWN },
  { name: "the claim is young", facts: of(aged(9), aLease(60)), ...YOUNG },
  { name: "a binder without a Lease may be busy", facts: of(aged(29), null), ...YOUNG },
  { name: "it has been busy for long", facts: of(aged(31), null), ...DOWN },
  { name: "a clock is wrong by some seconds", facts: of(aged(60), aLease(9)), ...UNKNOWN },
  { name: "its term is longer", facts: of(aged(60), aLease(29, "b1", 30)), ...UNKNOWN },
  { name: "nobody may read it", facts: of(aged(60), undefined), ...UNKNOWN },
  { name: "a Sandbox is the claim's", facts: of(aged(60), null, { sandbox: forClaim, pod: badImage }), ...IMAGE },
  {
    name: "the claim has a Sandbox",
    facts: of(aged(60, { ...says("DependenciesNotReady"), ...{ sandbox: { name: "demo" } } }), null, {
      sandbox: aWaitingSandbox(),
      pod: badImage,
    }),
    ...IMAGE,
  },
  {
    name: "the claim's pool does not exist",
    facts: of(aged(60), null, { pool: null }),
    want: ["WarmPoolNotFound", "SandboxWarmPool/warm", true],
    says: '"warm"',
  },
];

test.for(cases)("$name: $want.0", expectCause);

test("the evidence is the Lease and what the claim says; what could not be read is listed if that may be wrong", () => {
  const unreadable = [{ what: "pods", message: "forbidden" }];
  const claim = aged(60, says("SandboxMissing"));
  const told = (binder: LeaseFact | null) => {
    const { since, chain, remedy, evidence } = why(of(claim, binder, { unreadable }), NOW);
    expect(chain.map(({ kind, name }) => `${kind}/${name}`)).toEqual(["SandboxClaim/job", "Lease/hookbox-binder"]);
    expect(remedy).toContain("hookbox binder");
    return [since, ...evidence.map(({ where, text }) => `${where}: ${text}`)];
  };
  const condition = "status.conditions[Ready]: False SandboxMissing: SandboxMissing";
  expect(told(aLease(20))).toEqual([ago(20), `spec.renewTime: b1 renewed it last at ${ago(20)}`, condition]);
  expect(told(aLease(20, ""))).toEqual([ago(20), `spec.holderIdentity: nobody since ${ago(20)}`, condition]);
  const guess = [ago(60), "metadata.name: there is no such Lease", condition, "cannot read pods: forbidden"];
  expect(told(null)).toEqual(guess);
});

test("if the Lease says nothing, the remedy for a claim that has no status is to look at the binder", () => {
  expect([aLease(1), undefined].map((binder) => why(of(aged(60), binder), NOW).remedy)).toEqual([
    expect.stringContaining("See that the binder runs"),
    expect.stringContaining("Lease hookbox-binder"),
  ]);
});
