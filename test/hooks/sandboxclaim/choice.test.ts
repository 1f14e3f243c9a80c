/** Which Sandbox a claim keeps of those that it was given, and what becomes of the other. @module */
import { expect, test } from "vitest";
import { chooseSandbox } from "../../../hooks/sandboxclaim/attachment.ts";
import { aBoundClaim, aClaim, aClaimed, after, anApplied, syncClaim, written } from "../../claimbuilders.ts";

const ASSIGNED = "agents.x-k8s.io/assigned-at";
const NAME = "agents.x-k8s.io/sandbox-name";
const given = (name: string, assigned?: string, metadata: Record<string, unknown> = {}) => {
  const applied = anApplied({ metadata: { name } });
  const { [ASSIGNED]: _, ...annotations } = applied.metadata.annotations as Record<string, string>;
  applied.metadata.annotations = assigned === undefined
    ? annotations as never
    : { ...annotations, [ASSIGNED]: assigned } as never;
  return aClaimed({ metadata: { uid: `uid-${name}`, ...metadata } }, applied);
};
const going = { deletionTimestamp: after(-1) };
const shows = (name: string) => ({ status: { sandbox: { name } } });
const notes = (name: string) => ({ metadata: { annotations: { [NAME]: name } } });

const cases = [
  { name: "none", claim: aClaim(), sandboxes: [], want: [] },
  { name: "one", claim: aClaim(), sandboxes: [given("a")], want: ["a"] },
  {
    name: "one that is not the one it shows",
    reason: "that one is gone",
    claim: aClaim(shows("b")),
    sandboxes: [given("a")],
    want: ["a"],
  },
  {
    name: "the one in the status",
    reason: "a client may be in it",
    claim: aClaim(shows("b")),
    sandboxes: [given("a", after(-9)), given("b", after(-1))],
    want: ["b", "a"],
  },
  {
    name: "the one in the annotation",
    reason: "it was noted before there was a status",
    claim: aClaim(notes("b")),
    sandboxes: [given("a", after(-9)), given("b", after(-1))],
    want: ["b", "a"],
  },
  {
    name: "status before annotation",
    reason: "clients read the status",
    claim: aClaim({ ...shows("b"), ...notes("a") }),
    sandboxes: [given("a", after(-9)), given("b", after(-1)), given("c", after(-99))],
    want: ["b", "a", "c"],
  },
  {
    name: "the earliest assigned",
    reason: "it was the first word",
    claim: aClaim(),
    sandboxes: [given("a", after(-1)), given("b", after(-9))],
    want: ["b", "a"],
  },
  {
    name: "the earliest by milliseconds",
    reason: "bursts are faster than seconds",
    claim: aClaim(),
    sandboxes: [given("a", "2026-11-21T11:59:50.123Z"), given("b", "2026-11-21T11:59:50.122Z")],
    want: ["b", "a"],
  },
  {
    name: "the first by name of two at once",
    reason: "any, but always the same",
    claim: aClaim(),
    sandboxes: [given("b", after(-1)), given("a", after(-1))],
    want: ["a", "b"],
  },
  {
    name: "one that nobody has assigned a time",
    reason: "another controller has bound it, before us",
    claim: aClaim(),
    sandboxes: [given("a", after(-9)), given("b")],
    want: ["b", "a"],
  },
  {
    name: "not the one in the status while that goes",
    reason: "it is lost, and the other is there",
    claim: aClaim(shows("a")),
    sandboxes: [given("a", after(-9), going), given("b", after(-1))],
    want: ["b"],
  },
  {
    name: "one that goes if there is no other",
    reason: "it is shown until it is gone",
    claim: aClaim(),
    sandboxes: [given("a", after(-9), going)],
    want: ["a"],
  },
];

test.for(cases)("chooseSandbox() keeps $name", ({ claim, sandboxes, want }) => {
  for (const order of [sandboxes, sandboxes.toReversed()]) {
    const { kept, extra } = chooseSandbox(claim, order);
    expect([kept, ...extra].flatMap((sandbox) => sandbox?.metadata.name ?? [])).toEqual(want);
  }
});

test("a claim that was given two shows one, and lets the other go once it is seen to show it: views may be old", () => {
  const sandboxes = [given("a", after(-5)), given("b", after(-9))];
  const answer = syncClaim(aClaim(), sandboxes);
  expect(answer.annotations).toMatchObject({ [NAME]: "b" });
  expect(answer.attachments.map(({ metadata }) => metadata.name)).toEqual(["b", "a"]);
  expect(answer.deletions).toEqual({});
  const annotated = written(aClaim(), answer);
  const named = syncClaim(annotated, sandboxes);
  expect([named.status?.sandbox?.name, named.deletions]).toEqual(["b", {}]);
  const next = syncClaim(written(annotated, named), sandboxes);
  expect(next.attachments.map(({ metadata }) => metadata.name)).toEqual(["b"]);
  expect(next.deletions).toEqual({ "Sandbox/a": "the claim has another one" });
});

test("a claim that shows one which is gone gives back nothing yet: it may be told of another one", () => {
  const answer = syncClaim(aBoundClaim(), [given("a", after(-5)), given("b", after(-9))]);
  expect(answer.deletions).toEqual({});
});

test.for(
  [
    ["was created a moment ago", { metadata: { creationTimestamp: after(-2) } }],
    ["was seen first a moment ago", {
      metadata: { annotations: { "agents.x-k8s.io/controller-first-observed-at": after(-2) } },
    }],
  ] as const,
)("a claim that %s does not turn from the one it shows, though only another is seen", ([, over]) => {
  const other = given("other", after(-1));
  const answer = syncClaim(aBoundClaim(over), [other]);
  expect(answer).toEqual({ attachments: [expect.objectContaining({ kind: "Sandbox" })], resyncAfterSeconds: 1 });
  const both = syncClaim(aBoundClaim(over), [other, given("warm-1", after(-1))]);
  expect([both.status?.sandbox?.name ?? "warm-1", both.attachments[0]?.metadata.name]).toEqual(["warm-1", "warm-1"]);
});

test("a claim turns to another one once the one it showed is believed to be gone, and is Ready once annotated with that", () => {
  const { annotations } = aBoundClaim().metadata;
  const claim = aBoundClaim({ metadata: { annotations, creationTimestamp: after(-3) } });
  const answer = syncClaim(claim, [given("other", after(-3))]);
  expect(answer.status).toMatchObject({ sandbox: { name: "other" }, conditions: [{ reason: "SandboxNotReady" }] });
  expect(answer.annotations).toMatchObject({ [NAME]: "other" });
  const next = syncClaim(written(claim, answer), [given("other", after(-3))]);
  expect(next.status).toMatchObject({ sandbox: { name: "other" }, conditions: [{ status: "True" }] });
});

test("a bound claim stays with what it shows when another one turns up", () => {
  const answer = syncClaim(aBoundClaim(), [given("extra", after(-9)), given("warm-1", after(-1))]);
  expect(answer.status?.sandbox?.name).toBe("warm-1");
  expect(answer.deletions).toEqual({ "Sandbox/extra": "the claim has another one" });
});

test("an expired claim with two gives back both, each with its reason", () => {
  const conditions = [{
    type: "Ready",
    status: "False",
    reason: "ClaimExpired",
    message: "",
    lastTransitionTime: after(-1),
  }];
  const claim = aClaim({
    spec: { lifecycle: { shutdownTime: after(-2), shutdownPolicy: "Retain" } },
    status: { conditions, sandbox: { name: "a" } },
  });
  expect(syncClaim(claim, [given("a"), given("b")])).toEqual({
    attachments: [],
    deletions: { "Sandbox/a": "the claim has expired", "Sandbox/b": "the claim has another one" },
  });
});
