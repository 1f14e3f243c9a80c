/** A claim that no Sandbox belongs to: it waits quietly, says what is wrong, and heals unless it has come to an end. @module */
import { expect, test } from "vitest";
import type { ClaimMemory, Memories } from "../../../hooks/sandboxclaim/memory.ts";
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

const BOUND = "agents.x-k8s.io/claim-bound";
const SEEN = "agents.x-k8s.io/controller-first-observed-at";
const MISSING = "False SandboxMissing Sandbox does not exist";
const seconds = (count: number) => new Date(NOW.getTime() + count * 1000);
const unresolved = (generation: number, reason: string) => ({
  "agents.x-k8s.io/unresolved": JSON.stringify({ generation, reason, message: `of ${reason}` }),
});
const BAD = { additionalPodMetadata: { labels: { app: "x" } } };
const young = { creationTimestamp: after(0) };

const cases = [
  {
    name: "just seen, without a status",
    reason: "most claims are served by then",
    claim: aClaim({ metadata: young }),
    want: { resyncAfterSeconds: 3, attachments: [] },
  },
  {
    name: "just seen, with a status",
    reason: "it has spoken once, and is kept true",
    claim: aClaim({ metadata: young, status: { conditions: [] } }),
    ready: MISSING,
  },
  { name: "seen long ago", reason: "who waits is told", claim: aClaim(), ready: MISSING },
  {
    name: "of unknown age",
    reason: "silence might last for ever",
    claim: aClaim({ metadata: { creationTimestamp: undefined } }),
    ready: MISSING,
  },
  {
    name: "with bad metadata",
    reason: "no pool gives it anything, so it is told at once",
    claim: aClaim({ metadata: young, spec: BAD }),
    ready: /^False InvalidMetadata invalid additionalPodMetadata: failed to validate label "app": /,
  },
  {
    name: "whose pool is missing",
    reason: "the keeper says so",
    claim: aClaim({ metadata: { annotations: unresolved(3, "WarmPoolNotFound") } }),
    ready: "False WarmPoolNotFound of WarmPoolNotFound",
  },
  {
    name: "whose template is missing",
    reason: "the keeper says so, and quiet is over",
    claim: aClaim({ metadata: { ...young, annotations: unresolved(3, "TemplateNotFound") } }),
    ready: "False TemplateNotFound of TemplateNotFound",
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
    ready: MISSING,
  },
  {
    name: "with a word that is not the keeper's",
    reason: "anybody can annotate",
    claim: aClaim({ metadata: { annotations: unresolved(3, "Whatever") } }),
    ready: MISSING,
  },
];

test.for(cases)("a claim $name: $reason", ({ claim, want, ready }) => {
  const answer = syncClaim(claim);
  if (want) return expect(answer).toEqual(want);
  expect(`${readyText(answer)}`).toMatch(ready ?? "");
  expect(answer.labels).toEqual({ [BOUND]: null });
  expect(answer.attachments).toEqual([]);
  expect(answer.annotations).toEqual({ [SEEN]: NOW.toISOString() });
});

test("an unserved claim that has spoken is asked for nothing more until something changes", () => {
  const claim = aClaim();
  const spoken = written(claim, syncClaim(claim));
  const again = syncClaim(spoken, [], { now: seconds(5) });
  expect(written(spoken, again)).toEqual(spoken);
  expect(again).not.toHaveProperty("resyncAfterSeconds");
});

test("a claim whose Sandbox vanished waits two seconds, then is the pool's to serve, and is served", () => {
  const memories: Memories = new Map();
  const claim = aBoundClaim();
  expect(syncClaim(claim, [], { memories })).toEqual({ resyncAfterSeconds: 2, attachments: [] });
  expect(syncClaim(claim, [], { memories, now: seconds(1.5) })).toEqual({ resyncAfterSeconds: 0.5, attachments: [] });
  const let_go = syncClaim(claim, [], { memories, now: seconds(2) });
  expect(readyText(let_go)).toBe(MISSING);
  expect(let_go.labels).toEqual({ [BOUND]: null });
  expect(let_go.status).not.toHaveProperty("sandbox");
  const free = written(claim, let_go);
  expect(free.metadata.labels).toEqual({});
  const healed = syncClaim(free, [aClaimed()], { memories, now: seconds(3) });
  expect(healed.labels).toEqual({ [BOUND]: "true" });
  expect(healed.status?.sandbox?.name).toBe("warm-1");
});

test("a Sandbox that is back in view was never gone: the two seconds begin anew", () => {
  const memories: Memories = new Map();
  syncClaim(aBoundClaim(), [], { memories });
  syncClaim(aBoundClaim(), [aClaimed()], { memories, now: seconds(1) });
  expect(syncClaim(aBoundClaim(), [], { memories, now: seconds(4) })).toEqual({
    resyncAfterSeconds: 2,
    attachments: [],
  });
});

test("a process that has forgotten waits two seconds more", () => {
  const memory: ClaimMemory = { firstSeen: NOW.getTime() - 9000, missingSince: NOW.getTime() - 9000 };
  expect(readyText(syncClaim(aBoundClaim(), [], { memories: new Map([["uid-job", memory]]) }))).toBe(MISSING);
  expect(readyText(syncClaim(aBoundClaim(), []))).toBeUndefined();
});

test.for([
  { name: "only labelled", claim: aBoundClaim({ status: { sandbox: undefined } }) },
  { name: "only showing its Sandbox", claim: aBoundClaim({ metadata: { labels: {} } }) },
])("a claim that is $name counts as bound", ({ claim }) => {
  expect(syncClaim(claim)).toEqual({ resyncAfterSeconds: 2, attachments: [] });
});

test.for(["SandboxExpired", "InvalidConfiguration", "PodFailed", "PodSucceeded"])(
  "a claim that showed %s does not come back: clients have given up on it",
  (reason) => {
    const claim = aBoundClaim({ status: { conditions: [aCondition("Ready", "False", reason)] } });
    const memories: Memories = new Map([["uid-job", { firstSeen: 0, missingSince: 0 }]]);
    expect(syncClaim(claim, [], { memories })).toEqual({ attachments: [] });
  },
);

test.for(["SandboxSuspended", "DependenciesNotReady", "ReconcilerError", "SandboxNotReady"])(
  "a claim that showed %s heals",
  (reason) => {
    const claim = aBoundClaim({ status: { conditions: [aCondition("Ready", "False", reason)] } });
    const memories: Memories = new Map([["uid-job", { firstSeen: 0, missingSince: 0 }]]);
    expect(syncClaim(claim, [], { memories }).labels).toEqual({ [BOUND]: null });
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

test("a label with another pool's name is taken away: nobody would see the claim", () => {
  const labelled = (name: string) => aClaim({ metadata: { labels: { "agents.x-k8s.io/warm-pool-ref": name } } });
  const { name } = aClaim().spec.warmPoolRef;
  expect(syncClaim(labelled("other")).labels).toHaveProperty(["agents.x-k8s.io/warm-pool-ref"], null);
  expect(syncClaim(labelled(name)).labels).not.toHaveProperty(["agents.x-k8s.io/warm-pool-ref"]);
  expect(syncClaim(aClaim()).labels).not.toHaveProperty(["agents.x-k8s.io/warm-pool-ref"]);
});
