/** A claim that is not bound is the binder's: its hook writes nothing, deletes nothing and asks for no other look. @module */
import { expect, test } from "vitest";
import { boundSandbox } from "../../../packages/api/claims/binding.ts";
import { CLAIM_FINAL_REASONS } from "../../../packages/api/finalreasons.ts";
import type { Sandbox } from "../../../packages/api/sandbox.ts";
import { aClaim, aClaimed, aCondition, after, anApplied, putOf, syncClaim } from "../../claimbuilders.ts";

const KEY = (name: string) => `agents.x-k8s.io/${name}`;
const given = (name: string, since: Parameters<typeof aClaimed>[0] = {}): Sandbox =>
  aClaimed({ ...since, metadata: { uid: `uid-${name}`, ...since.metadata } }, anApplied({ metadata: { name } }));
const ended = (policy: string) => ({ lifecycle: { shutdownTime: after(-60), shutdownPolicy: policy } });
const reports = (reason: string, name?: string) => ({
  conditions: [{ ...aCondition("Ready", "False", reason), observedGeneration: 3 }],
  ...(name === undefined ? {} : { sandbox: { name } }),
});

const REASONS = [
  ...CLAIM_FINAL_REASONS,
  ...["SandboxMissing", "SandboxNotReady", "SandboxSuspended", "DependenciesNotReady", "ReconcilerError"],
];
const claims: { name: string; claim: Parameters<typeof aClaim>[0] }[] = [
  { name: "is new", claim: {} },
  { name: "has waited for hours", claim: { metadata: { creationTimestamp: after(-9999) } } },
  { name: "has an empty status", claim: { status: {} } },
  { name: "has a status without conditions", claim: { status: { conditions: [] } } },
  { name: "names a Sandbox without a name", claim: { status: { sandbox: { name: "" } } } },
  {
    name: "reports Ready, and names no Sandbox",
    claim: { status: { conditions: [aCondition("Ready", "True", "Odd")] } },
  },
  { name: "is annotated with a Sandbox", claim: { metadata: { annotations: { [KEY("sandbox-name")]: "a" } } } },
  {
    name: "has an annotation of an earlier version",
    claim: {
      metadata: { annotations: { [KEY("unresolved")]: '{"generation":3,"reason":"WarmPoolNotFound","message":"x"}' } },
    },
  },
  { name: "asks for bad metadata", claim: { spec: { additionalPodMetadata: { labels: { app: "x" } } } } },
  ...["Retain", "Delete", "DeleteForeground"].flatMap((policy) => [
    { name: `has expired, with ${policy}`, claim: { spec: ended(policy) } },
    {
      name: `reports that it has expired, with ${policy}`,
      claim: { spec: ended(policy), status: reports("ClaimExpired") },
    },
    {
      name: `reports that it has expired, and names a Sandbox that is gone, with ${policy}`,
      claim: { spec: ended(policy), status: reports("ClaimExpired", "gone") },
    },
  ]),
  ...REASONS.flatMap((reason) => [
    { name: `reports ${reason}`, claim: { status: reports(reason) } },
    { name: `reports ${reason} of a Sandbox that is gone`, claim: { status: reports(reason, "gone") } },
  ]),
];

const sandboxes: Sandbox[][] = [
  [],
  [given("a")],
  [given("a", { status: { conditions: [], podIPs: [] } })],
  [given("a", { status: { conditions: [aCondition("Ready", "False", "PodFailed")] } }), given("b")],
  [given("a", { metadata: { deletionTimestamp: after(-1) } }), given("b")],
];

test.for(claims)("a claim that $name and is not bound: its hook changes nothing", ({ claim }) => {
  for (const controlled of sandboxes) {
    const answer = syncClaim(aClaim(claim), controlled);
    expect(Object.keys(answer)).toEqual(["attachments"]);
    expect(answer.attachments.map(({ metadata }) => metadata.name)).toEqual(
      controlled.map(({ metadata }) => metadata.name),
    );
    for (const [index, sandbox] of controlled.entries()) {
      expect(putOf(sandbox, answer.attachments[index]!)).toBeUndefined();
    }
  }
});

test("a claim that is being deleted is left to the garbage collector, bound or not", () => {
  const metadata = { deletionTimestamp: after(-1) };
  for (const status of [undefined, { sandbox: { name: "a" } }]) {
    const claim = aClaim({ metadata, spec: ended("Retain"), ...(status && { status }) });
    const answer = syncClaim(claim, [given("a"), given("b")]);
    expect(answer).toEqual({
      attachments: [anApplied({ metadata: { name: "a" } }), anApplied({ metadata: { name: "b" } })],
    });
  }
});

test.for([
  { name: "names none", status: undefined, want: undefined },
  { name: "has a status without a Sandbox", status: { conditions: [] }, want: undefined },
  { name: "names one without a name", status: { sandbox: { name: "" } }, want: undefined },
  { name: "names one that it does not control", status: { sandbox: { name: "gone" } }, want: undefined },
  { name: "names one of two", status: { sandbox: { name: "b" } }, want: "b" },
])("boundSandbox() of a claim that $name: $want", ({ status, want }) => {
  const claim = aClaim(status ? { status } : {});
  expect(boundSandbox(claim, [given("a"), given("b"), given("")])?.metadata.name).toBe(want);
});
