/** A claim that no Sandbox belongs to: it waits silently, says what is wrong, and heals unless it has come to an end. @module */
import { expect, test } from "vitest";
import {
  aBoundClaim,
  aClaim,
  aClaimed,
  aCondition,
  after,
  readyText,
  syncClaim,
  written,
} from "../../claimbuilders.ts";
import { NOW } from "../../sandboxes.ts";

const KEY = (name: string) => `agents.x-k8s.io/${name}`;
const SEEN = KEY("controller-first-observed-at");
const READY = KEY("claim-first-ready-at");
const MISSING = "False SandboxMissing Sandbox does not exist";
const seconds = (count: number) => new Date(NOW.getTime() + count * 1000);
const unresolved = (generation: number, reason: string) => ({
  [KEY("unresolved")]: JSON.stringify({ generation, reason, message: `of ${reason}` }),
});
const BAD = { additionalPodMetadata: { labels: { app: "x" } } };

const cases = [
  { name: "that has never said anything", reason: "the binder is at it", claim: aClaim() },
  {
    name: "that has never said anything, for long",
    reason: "whether somebody should have come is the keeper's to say",
    claim: aClaim({ metadata: { creationTimestamp: after(-9999) } }),
  },
  {
    name: "that has a status without a Sandbox",
    reason: "it has spoken once, and is kept true",
    claim: aClaim({ status: { conditions: [] } }),
    ready: MISSING,
  },
  {
    name: "with bad metadata",
    reason: "it is served nothing, so it is told at once",
    claim: aClaim({ spec: BAD }),
    ready: /^False InvalidMetadata invalid additionalPodMetadata: failed to validate label "app": /,
  },
  {
    name: "whose pool is missing",
    reason: "the keeper says so",
    claim: aClaim({ metadata: { annotations: unresolved(3, "WarmPoolNotFound") } }),
    ready: "False WarmPoolNotFound of WarmPoolNotFound",
  },
  {
    name: "that nobody serves",
    reason: "the keeper says so",
    claim: aClaim({ metadata: { annotations: unresolved(3, "SandboxMissing") } }),
    ready: "False SandboxMissing of SandboxMissing",
  },
  {
    name: "with bad metadata and a missing pool",
    reason: "the claim's own fault comes first",
    claim: aClaim({ metadata: { annotations: unresolved(3, "WarmPoolNotFound") }, spec: BAD }),
    ready: /^False InvalidMetadata /,
  },
  {
    name: "with the keeper's word on an older spec",
    reason: "the fault may be gone",
    claim: aClaim({ metadata: { annotations: unresolved(2, "EnvVarsInjectionRejected") } }),
  },
  {
    name: "with a word that is not the keeper's",
    reason: "anybody can annotate",
    claim: aClaim({ metadata: { annotations: unresolved(3, "Whatever") } }),
  },
];

test.for(cases)("a claim $name: $reason", ({ claim, ready }) => {
  const answer = syncClaim(claim);
  if (ready === undefined) return expect(answer).toEqual({ attachments: [] });
  expect(`${readyText(answer)}`).toMatch(ready);
  expect(answer.attachments).toEqual([]);
  expect(answer.annotations).toEqual({ [SEEN]: NOW.toISOString() });
  expect(answer).not.toHaveProperty("labels");
});

test("an unserved claim that has spoken is asked for nothing more until something changes", () => {
  const claim = aClaim({ metadata: { annotations: unresolved(3, "WarmPoolNotFound") } });
  const spoken = written(claim, syncClaim(claim));
  const again = syncClaim(spoken, [], { now: seconds(5) });
  expect(written(spoken, again)).toEqual(spoken);
  expect(again).not.toHaveProperty("resyncAfterSeconds");
});

test("a claim whose trouble is over says that it waits, no more", () => {
  const claim = aClaim({ metadata: { annotations: unresolved(3, "WarmPoolNotFound") } });
  const { status } = syncClaim(claim);
  expect(readyText(syncClaim(aClaim({ status: { ...status } })))).toBe(MISSING);
});

test("a claim whose Sandbox vanished says so, shows none, and shows the next", () => {
  const claim = aBoundClaim();
  const lost = syncClaim(claim);
  expect(readyText(lost)).toBe(MISSING);
  expect(lost.status).not.toHaveProperty("sandbox");
  const free = written(claim, lost);
  const healed = syncClaim(free, [aClaimed()], { now: seconds(3) });
  expect([healed.status?.sandbox?.name, readyText(healed)]).toEqual(["warm-1", "True DependenciesReady Pod is Ready"]);
});

test.for([SEEN, READY])(
  "a claim that was given its Sandbox a moment ago, by %s, is not told that it is gone: views differ in age",
  (key) => {
    const annotations = { [SEEN]: "2026-11-21T11:00:00.000Z", [key]: after(-1) };
    const claim = aBoundClaim({ metadata: { annotations } });
    expect(syncClaim(claim)).toEqual({ resyncAfterSeconds: 2, attachments: [] });
    expect(syncClaim(claim, [], { now: seconds(1.5) })).toEqual({ resyncAfterSeconds: 0.5, attachments: [] });
    expect(readyText(syncClaim(claim, [], { now: seconds(2) }))).toBe(MISSING);
  },
);

test.for([{}, { [SEEN]: "unknown", [READY]: "unknown" }])(
  "a claim that does not tell when it was given its Sandbox is told at once that it is gone: %o",
  (annotations) => {
    expect(readyText(syncClaim(aBoundClaim({ metadata: { annotations } })))).toBe(MISSING);
  },
);

test("a problem is none while a claim shows a Sandbox: that it is gone comes first", () => {
  const claim = aBoundClaim({ metadata: { annotations: unresolved(3, "WarmPoolNotFound") } });
  expect(readyText(syncClaim(claim))).toBe(MISSING);
});

test.for(["SandboxExpired", "InvalidConfiguration", "PodFailed", "PodSucceeded"])(
  "a claim that showed %s does not come back: clients have given up on it",
  (reason) => {
    const claim = aBoundClaim({ status: { conditions: [aCondition("Ready", "False", reason)] } });
    expect(syncClaim(claim)).toEqual({ attachments: [] });
  },
);

test.for(["SandboxSuspended", "DependenciesNotReady", "ReconcilerError", "SandboxNotReady"])(
  "a claim that showed %s heals",
  (reason) => {
    const claim = aBoundClaim({ status: { conditions: [aCondition("Ready", "False", reason)] } });
    expect(readyText(syncClaim(claim))).toBe(MISSING);
  },
);

test("what others have put into status, labels and annotations stays", () => {
  const foreign = aCondition("example.com/Mine", "True", "Mine");
  const metadata = { labels: { a: "b" }, annotations: { c: "d" } };
  const claim = aClaim({ metadata, status: { conditions: [foreign] } });
  const after = written(claim, syncClaim(claim));
  expect(after.status?.conditions?.map(({ type }) => type)).toEqual(["Ready", "example.com/Mine"]);
  expect(after.metadata).toMatchObject(metadata);
});

test("a claim that is being deleted is left to the garbage collector", () => {
  const claim = aBoundClaim({ metadata: { deletionTimestamp: after(-1) } });
  expect(syncClaim(claim)).toEqual({ attachments: [] });
});
