/** Which Sandboxes a claim loses of those that it controls: once it is bound, all but the one that its status names. @module */
import { expect, test } from "vitest";
import type { Sandbox } from "../../../packages/api/sandbox.ts";
import { aBoundClaim, aClaim, aClaimed, aCondition, after, anApplied, syncClaim } from "../../claimbuilders.ts";

const ANOTHER = "the claim has another one";
const given = (name: string, since: Parameters<typeof aClaimed>[0] = {}): Sandbox =>
  aClaimed({ ...since, metadata: { uid: `uid-${name}`, ...since.metadata } }, anApplied({ metadata: { name } }));
const going = { metadata: { deletionTimestamp: after(-1) } };
const silent = { status: { conditions: [], podIPs: [] } };
const namesOf = (answer: ReturnType<typeof syncClaim>) => answer.attachments.map(({ metadata }) => metadata.name);

const cases = [
  { name: "one", sandboxes: [given("warm-1")], want: [] },
  { name: "two", sandboxes: [given("warm-1"), given("a")], want: ["a"] },
  { name: "three", sandboxes: [given("a"), given("warm-1"), given("b")], want: ["a", "b"] },
  { name: "another one that goes", sandboxes: [given("warm-1"), given("a", going)], want: ["a"] },
  { name: "one that goes, and another one", sandboxes: [given("warm-1", going), given("a")], want: ["a"] },
  { name: "one that reports nothing, and another one", sandboxes: [given("warm-1", silent), given("a")], want: ["a"] },
];
test.for(cases)("a bound claim with $name keeps the one that it names, and loses $want", ({ sandboxes, want }) => {
  for (const order of [sandboxes, sandboxes.toReversed()]) {
    const answer = syncClaim(aBoundClaim(), order);
    expect([namesOf(answer), answer.status?.sandbox?.name ?? "warm-1"]).toEqual([["warm-1"], "warm-1"]);
    expect(answer.deletions).toEqual(Object.fromEntries(want.map((name) => [`Sandbox/${name}`, ANOTHER])));
  }
});

test("the annotation does not decide: the status names the Sandbox that clients use", () => {
  const annotations = { ...aBoundClaim().metadata.annotations, "agents.x-k8s.io/sandbox-name": "a" };
  const answer = syncClaim(aBoundClaim({ metadata: { annotations } }), [given("a"), given("warm-1")]);
  expect([namesOf(answer), answer.deletions]).toEqual([["warm-1"], { "Sandbox/a": ANOTHER }]);
});

const unbound = [
  ["that names none", {}],
  ["that names one which is gone", { status: { sandbox: { name: "gone" } } }],
  ["that is annotated with one", { metadata: { annotations: { "agents.x-k8s.io/sandbox-name": "a" } } }],
] as const;
test.for(unbound)("a claim %s loses none of two: the binder has yet to bind it", ([, over]) => {
  const answer = syncClaim(aClaim(over), [given("a"), given("b")]);
  expect([namesOf(answer), answer.deletions]).toEqual([["a", "b"], undefined]);
});

test("an expired claim with two gives back both, each with its reason", () => {
  const conditions = [{ ...aCondition("Ready", "False", "ClaimExpired"), lastTransitionTime: after(-1) }];
  const claim = aClaim({
    spec: { lifecycle: { shutdownTime: after(-2), shutdownPolicy: "Retain" } },
    status: { conditions, sandbox: { name: "a" } },
  });
  expect(syncClaim(claim, [given("a"), given("b")])).toEqual({
    attachments: [],
    deletions: { "Sandbox/a": "the claim has expired", "Sandbox/b": ANOTHER },
  });
});

test("an expired claim with two, whose policy is Delete, keeps the one that it names until the keeper deletes it", () => {
  const claim = aClaim({
    spec: { lifecycle: { shutdownTime: after(-2), shutdownPolicy: "Delete" } },
    status: { conditions: [aCondition("Ready", "False", "ClaimExpired")], sandbox: { name: "a" } },
  });
  const answer = syncClaim(claim, [given("a"), given("b")]);
  expect([namesOf(answer), answer.deletions]).toEqual([["a"], { "Sandbox/b": ANOTHER }]);
});
