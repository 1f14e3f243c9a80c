/** Where a claim stands: the table of standingOf(), and which of two Sandboxes a claim is bound to. @module */
import { expect, test } from "vitest";
import type { SandboxClaim } from "../../packages/api/sandboxclaim.ts";
import { createControlled, standingOf } from "../../packages/binder/standing.ts";
import { aClaim, ago, aMember, type Over } from "../pools.ts";
import { NOW } from "../sandboxes.ts";

/** Source: Agent Sandbox API 1.0, checklist item 6. */
const ENDS = ["SandboxExpired", "InvalidConfiguration", "PodFailed", "PodSucceeded"];
const NOT_SERVED = [
  "WarmPoolNotFound",
  "TemplateNotFound",
  "EnvVarsInjectionRejected",
  "InvalidMetadata",
  "InvalidConfiguration",
  "ReconcilerError",
  "SandboxMissing",
];
const HEALING = ["SandboxSuspended", "DependenciesNotReady", "SandboxNotReady", "ReconcilerError"];

/** A Sandbox by its name and when the claim got it; undefined: nobody took note. */
type Given = [name: string, assignedAt: string | undefined];
const given = (name: string, assignedAt: string | undefined = ago(9)): Given => [name, assignedAt];
const seen = { annotations: { "agents.x-k8s.io/controller-first-observed-at": ago(9) } };
const reports = (reason: string, sandbox?: string, observedGeneration = 1) => ({
  conditions: [
    { type: "Ready", status: "False", reason, message: "", observedGeneration, lastTransitionTime: ago(5) },
  ],
  ...(sandbox === undefined ? {} : { sandbox: { name: sandbox } }),
});
const ends = (seconds: number) => ({ lifecycle: { shutdownTime: ago(seconds) } });
const expired = { spec: ends(0) };
const finished = (sandbox?: string) => ({
  conditions: [
    { type: "Finished", status: "True", reason: "PodSucceeded", message: "", lastTransitionTime: ago(60) },
    ...reports("PodSucceeded").conditions,
  ],
  ...(sandbox === undefined ? {} : { sandbox: { name: sandbox } }),
});

interface Case {
  name: string;
  claim?: Over;
  controlled?: Given[];
  want: string;
}

const cases: Case[] = [
  { name: "is new", want: "wanting" },
  { name: "expires in a second", claim: { spec: ends(-1) }, want: "wanting" },
  {
    name: "has a shutdown time that cannot be read",
    claim: { spec: { lifecycle: { shutdownTime: "0000-13-01T00:00:00Z" } } },
    want: "wanting",
  },
  { name: "has a status without conditions", claim: { status: {} }, want: "wanting" },
  { name: "names a Sandbox without a name", claim: { status: { sandbox: { name: "" } } }, want: "wanting" },
  ...NOT_SERVED.map((reason) => ({ name: `reports ${reason}`, claim: { status: reports(reason) }, want: "wanting" })),
  {
    name: "is being deleted",
    claim: { metadata: { deletionTimestamp: ago(1) } },
    controlled: [given("a")],
    want: "hooks",
  },
  {
    name: "is being deleted, has expired and lacks its Sandbox",
    claim: { ...expired, metadata: { deletionTimestamp: ago(1) }, status: reports("SandboxNotReady", "a") },
    want: "hooks",
  },
  {
    name: "is bound",
    claim: { metadata: seen, status: { sandbox: { name: "a" } } },
    controlled: [given("a")],
    want: "hooks",
  },
  {
    name: "is bound, and was never annotated",
    claim: { status: { sandbox: { name: "a" } } },
    controlled: [given("a")],
    want: "unannotated",
  },
  {
    name: "is bound and has expired",
    claim: { ...expired, metadata: seen, status: { sandbox: { name: "a" } } },
    controlled: [given("a")],
    want: "hooks",
  },
  {
    name: "is bound to the later one of two Sandboxes",
    claim: { metadata: seen, status: { sandbox: { name: "b" } } },
    controlled: [given("a", ago(9)), given("b", ago(1))],
    want: "hooks",
  },
  { name: "has a Sandbox that it does not name", controlled: [given("a")], want: "assigned a" },
  {
    name: "names a Sandbox that is gone, and has another one",
    claim: { status: { sandbox: { name: "gone" } } },
    controlled: [given("a")],
    want: "lost",
  },
  {
    name: "reports how a Sandbox ended that is gone, and has another one",
    claim: { status: reports("PodFailed", "gone") },
    controlled: [given("a")],
    want: "lost",
  },
  {
    name: "reports that it has lost its Sandbox, and has another one",
    claim: { status: reports("SandboxMissing") },
    controlled: [given("a")],
    want: "assigned a",
  },
  {
    name: "has expired, and has a Sandbox that it does not name",
    claim: expired,
    controlled: [given("a")],
    want: "assigned a",
  },
  { name: "names a Sandbox that is gone", claim: { status: { sandbox: { name: "gone" } } }, want: "lost" },
  ...HEALING.map((reason) => ({
    name: `reports ${reason} of a Sandbox that is gone`,
    claim: { status: reports(reason, "gone") },
    want: "lost",
  })),
  ...ENDS.map((reason) => ({
    name: `reports ${reason} of a Sandbox that is gone`,
    claim: { status: reports(reason, "gone") },
    want: "hooks",
  })),
  { name: "has expired", claim: expired, want: "expired" },
  {
    name: "has expired, and names a Sandbox that is gone",
    claim: { ...expired, status: { sandbox: { name: "gone" } } },
    want: "expired",
  },
  { name: "has expired, and reports that", claim: { ...expired, status: reports("ClaimExpired") }, want: "hooks" },
  {
    name: "has expired, and reports that of an earlier spec",
    claim: { ...expired, metadata: { generation: 2 }, status: reports("ClaimExpired") },
    want: "expired",
  },
  {
    name: "has expired, reports that, and names a Sandbox that is gone",
    claim: { ...expired, status: reports("ClaimExpired", "gone") },
    want: "expired",
  },
  {
    name: "has expired, and reports why it is not served",
    claim: { ...expired, status: reports("WarmPoolNotFound") },
    want: "expired",
  },
  {
    name: "reports that it has expired, and has a later time by now",
    claim: { spec: ends(-60), status: reports("ClaimExpired") },
    want: "hooks",
  },
  ...[10, 59, 60].map((ttlSecondsAfterFinished) => ({
    name: `has finished a minute ago, lives ${ttlSecondsAfterFinished} seconds after that, and lacks its Sandbox`,
    claim: { spec: { lifecycle: { ttlSecondsAfterFinished } }, status: finished("gone") },
    want: "expired",
  })),
  {
    name: "has finished a minute ago, lives 61 seconds after that, and lacks its Sandbox",
    claim: { spec: { lifecycle: { ttlSecondsAfterFinished: 61 } }, status: finished("gone") },
    want: "hooks",
  },
];

function textOf(claim: SandboxClaim, sandboxes: readonly Given[]): string {
  const controlled = createControlled();
  for (const [name, assignedAt] of sandboxes) {
    const annotations = { "agents.x-k8s.io/assigned-at": assignedAt };
    controlled.put(aMember(1, { metadata: { name, uid: `uid-${name}`, annotations } }));
  }
  const standing = standingOf(claim, controlled, NOW.getTime());
  return standing.is === "assigned" ? `assigned ${standing.assigned.name}` : standing.is;
}

test.for(cases)("a claim that $name: $want", ({ claim = {}, controlled = [], want }) => {
  expect(textOf(aClaim("c", claim), controlled)).toBe(want);
});

const noted = (name: string) => ({ metadata: { annotations: { "agents.x-k8s.io/sandbox-name": name } } });
const choices: { name: string; claim?: Over; controlled: Given[]; want: string }[] = [
  {
    name: "the one that its annotation names",
    claim: noted("b"),
    controlled: [given("a", ago(9)), given("b", ago(1))],
    want: "b",
  },
  {
    name: "the earliest if its annotation names another one",
    claim: noted("gone"),
    controlled: [given("a", ago(1)), given("b", ago(9))],
    want: "b",
  },
  { name: "the earliest", controlled: [given("a", ago(1)), given("b", ago(9))], want: "b" },
  {
    name: "the earliest by milliseconds",
    controlled: [given("a", "2026-11-21T11:59:50.123Z"), given("b", "2026-11-21T11:59:50.122Z")],
    want: "b",
  },
  { name: "the first by name of two at once", controlled: [given("b"), given("a")], want: "a" },
  {
    name: "one without a time: another controller gave it before us",
    controlled: [given("a"), ["b", undefined]],
    want: "b",
  },
];

test.for(choices)("of two Sandboxes a claim is bound to $name", ({ claim = {}, controlled, want }) => {
  for (const order of [controlled, controlled.toReversed()]) {
    expect(textOf(aClaim("c", claim), order)).toBe(`assigned ${want}`);
  }
});
