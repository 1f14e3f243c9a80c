/** Expiry of claims: when it comes, and its two steps for each policy. @module */
import { expect, test } from "vitest";
import { expiryTime } from "../../../packages/api/expiry.ts";
import { findCondition } from "../../../packages/api/objects/conditions.ts";
import {
  aBoundClaim,
  aClaim,
  aClaimed,
  aCondition,
  after,
  putOf,
  readyText,
  syncClaim,
  written,
} from "../../claimbuilders.ts";
import { NOW } from "../../sandboxes.ts";

const finished = (status = "True", seconds = -100) => ({
  conditions: [{ ...aCondition("Finished", status, "PodSucceeded"), lastTransitionTime: after(seconds) }],
});
const EXPIRED = aCondition("Ready", "False", "ClaimExpired");
const ofGeneration = (observedGeneration: number) => ({ ...EXPIRED, observedGeneration });

test.for([
  { name: "no lifecycle", lifecycle: undefined, want: undefined },
  { name: "an empty lifecycle", lifecycle: {}, want: undefined },
  { name: "a time", lifecycle: { shutdownTime: after(5) }, want: 5 },
  {
    name: "a time with an offset and a fraction",
    lifecycle: { shutdownTime: "2026-11-21T13:00:00.5+01:00" },
    want: 0.5,
  },
  { name: "a time that is none", lifecycle: { shutdownTime: "2026-01-01T00:00:00+25:99" }, want: undefined },
  { name: "a TTL, not finished", lifecycle: { ttlSecondsAfterFinished: 0 }, want: undefined },
  {
    name: "a TTL, finished False",
    lifecycle: { ttlSecondsAfterFinished: 0 },
    status: finished("False"),
    want: undefined,
  },
  { name: "a TTL, finished", lifecycle: { ttlSecondsAfterFinished: 40 }, status: finished(), want: -60 },
  { name: "a TTL of 0, finished", lifecycle: { ttlSecondsAfterFinished: 0 }, status: finished(), want: -100 },
  { name: "no TTL, finished", lifecycle: {}, status: finished(), want: undefined },
  {
    name: "both, the time is sooner",
    lifecycle: { ttlSecondsAfterFinished: 200, shutdownTime: after(50) },
    status: finished(),
    want: 50,
  },
  {
    name: "both, the TTL is sooner",
    lifecycle: { ttlSecondsAfterFinished: 120, shutdownTime: after(50) },
    status: finished(),
    want: 20,
  },
  {
    name: "a time that is none, and a TTL",
    lifecycle: { ttlSecondsAfterFinished: 120, shutdownTime: "never" },
    status: finished(),
    want: 20,
  },
])("expiryTime(): $name", ({ lifecycle, status, want }) => {
  const time = expiryTime(aClaim({ spec: { lifecycle }, ...(status ? { status } : {}) }));
  expect(time === undefined ? undefined : (time - NOW.getTime()) / 1000).toBe(want);
});

test.for([
  { name: "ahead", seconds: 1, want: "none" },
  { name: "ahead, and said to be past", reason: "the user has moved it", seconds: 1, ready: EXPIRED, want: "none" },
  { name: "now", seconds: 0, want: "due" },
  { name: "past", seconds: -1, want: "due" },
  { name: "past, not Ready", seconds: -1, ready: aCondition("Ready", "False", "SandboxExpired"), want: "due" },
  { name: "past, Ready", seconds: -1, ready: aCondition("Ready", "True", "ClaimExpired"), want: "due" },
  { name: "past and said so", seconds: -1, ready: EXPIRED, want: "published" },
  { name: "past and said so of this spec", seconds: -1, ready: ofGeneration(3), want: "published" },
  { name: "past and said so of the spec before", seconds: -1, ready: ofGeneration(2), want: "due" },
])("how far expiry has gone: $name", ({ seconds, ready, want }) => {
  const spec = { lifecycle: { shutdownTime: after(seconds), shutdownPolicy: "Retain" } };
  const answer = syncClaim(aBoundClaim({ spec, ...(ready ? { status: { conditions: [ready] } } : {}) }), [aClaimed()]);
  const isDue = readyText(answer)?.startsWith("False ClaimExpired") === true;
  expect(answer.attachments.length === 0 ? "published" : isDue ? "due" : "none").toBe(want);
});

test("a claim that will expire is looked at again at that moment, and never too seldom or too often", () => {
  const claim = (shutdownTime: string) => aBoundClaim({ spec: { lifecycle: { shutdownTime } } });
  const resync = (shutdownTime: string) => syncClaim(claim(shutdownTime), [aClaimed()]).resyncAfterSeconds;
  expect(resync(after(30))).toBe(30);
  expect(resync("2026-11-21T12:00:00.010Z")).toBe(0.05);
  expect(resync("9999-12-31T00:00:00Z")).toBe(86_400);
  expect(syncClaim(aBoundClaim(), [aClaimed()])).not.toHaveProperty("resyncAfterSeconds");
});

const POLICIES = ["Retain", "Delete", "DeleteForeground"];
const dying = (shutdownPolicy: string) =>
  aBoundClaim({ spec: { lifecycle: { shutdownTime: after(-1), shutdownPolicy } } });

test.for(POLICIES)("%s, first step: the status says it, and the Sandbox stays as it is", (policy) => {
  const claim = dying(policy);
  const answer = syncClaim(claim, [aClaimed()]);
  expect(readyText(answer)).toBe("False ClaimExpired Claim expired. Sandbox cleanup initiated.");
  expect(answer.status?.sandbox).toEqual({ name: "warm-1", podIPs: ["10.1.0.7"] });
  expect(answer.attachments.map((sandbox) => putOf(aClaimed(), sandbox))).toEqual([undefined]);
  expect(answer).toMatchObject({ deletions: {}, resyncAfterSeconds: 0.05 });
});

test("Retain, second step: the Sandbox goes, with the reason", () => {
  const published = written(dying("Retain"), syncClaim(dying("Retain"), [aClaimed()]));
  expect(syncClaim(published, [aClaimed()])).toEqual({
    attachments: [],
    deletions: { "Sandbox/warm-1": "the claim has expired" },
  });
  const gone = syncClaim(published);
  expect(gone, "the rest is the binder's: that it names none").toEqual({ attachments: [] });
});

test.for(POLICIES.slice(1))("%s, second step: the Sandbox stays for the keeper to delete the claim", (policy) => {
  const published = written(dying(policy), syncClaim(dying(policy), [aClaimed()]));
  const answer = syncClaim(published, [aClaimed()]);
  expect(answer.attachments.map((sandbox) => putOf(aClaimed(), sandbox))).toEqual([undefined]);
  expect(written(published, answer)).toEqual(published);
  expect(answer).not.toHaveProperty("resyncAfterSeconds");
});

test("what a published expiry says stays, whatever becomes of the Sandbox", () => {
  const published = written(dying("Delete"), syncClaim(dying("Delete"), [aClaimed()]));
  const failed = aClaimed({ status: { conditions: [aCondition("Finished", "True", "PodFailed")] } });
  expect(syncClaim(published, [failed])).not.toHaveProperty("status");
});

test("ttlSecondsAfterFinished: the claim finishes, waits, expires, and keeps Finished; then its Sandbox goes", () => {
  const lifecycle = { ttlSecondsAfterFinished: 30, shutdownPolicy: "Retain" };
  const done = { ...aCondition("Finished", "True", "PodSucceeded"), lastTransitionTime: after(0) };
  const ended = aCondition("Ready", "False", "PodSucceeded");
  const sandbox = aClaimed({ status: { conditions: [done, ended] } });
  const finishing = aBoundClaim({ spec: { lifecycle } });
  const finishedClaim = written(finishing, syncClaim(finishing, [sandbox]));
  expect(finishedClaim.status?.conditions?.map(({ type, reason }) => `${type} ${reason}`)).toEqual([
    "Finished PodSucceeded",
    "Ready PodSucceeded",
  ]);
  expect(syncClaim(finishedClaim, [sandbox]).resyncAfterSeconds).toBe(30);
  const now = new Date(NOW.getTime() + 30_000);
  const published = written(finishedClaim, syncClaim(finishedClaim, [sandbox], { now }));
  expect(published.status?.conditions?.map(({ type, reason }) => `${type} ${reason}`)).toEqual([
    "Finished PodSucceeded",
    "Ready ClaimExpired",
  ]);
  expect(syncClaim(published, [sandbox], { now }).attachments).toEqual([]);
});

test("a claim that was reported as expired by a clock that is ahead stays so, and keeps its Sandbox until its time comes", () => {
  const spec = { lifecycle: { shutdownTime: after(3), shutdownPolicy: "Retain" as const } };
  const status = { conditions: [ofGeneration(1)], sandbox: { name: "warm-1" } };
  const claim = aBoundClaim({ metadata: { generation: 1 }, spec, status });
  const answer = syncClaim(claim, [aClaimed()]);
  expect([readyText(answer), answer.attachments.length, answer.resyncAfterSeconds]).toEqual([
    "False ClaimExpired Claim expired. Sandbox cleanup initiated.",
    1,
    3,
  ]);
  const putOff = aBoundClaim({ metadata: { generation: 2 }, spec, status });
  expect(readyText(syncClaim(putOff, [aClaimed()]))).toBe("True DependenciesReady Pod is Ready");
});

test("two hooks whose clocks differ report alike that the Sandbox of an expired claim cannot be deleted", () => {
  const spec = { lifecycle: { shutdownPolicy: "Retain", shutdownTime: after(10) } };
  const annotations = { "agents.x-k8s.io/refused-write": JSON.stringify({ verb: "delete", words: "denied" }) };
  let claim = aBoundClaim({ metadata: { generation: 3 }, spec });
  const texts: (string | undefined)[] = [];
  for (let call = 0; call < 12; call++) {
    const seconds = 6 + call / 20 + (call % 2 ? 5 : 0);
    claim = written(
      claim,
      syncClaim(claim, [aClaimed({ metadata: { annotations } })], { now: new Date(NOW.getTime() + seconds * 1000) }),
    );
    texts.push(findCondition(claim.status?.conditions, "Ready")?.message);
  }
  expect(new Set(texts.slice(4)).size).toBe(1);
  expect(texts.at(-1)).toContain("denied");
});
