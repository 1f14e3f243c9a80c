/** A claim that has a Sandbox: one status for name, addresses and Ready, quiet until there is something to say. @module */
import { expect, test } from "vitest";
import type { Memories } from "../../../hooks/sandboxclaim/memory.ts";
import {
  aBoundClaim,
  aClaim,
  aClaimed,
  aCondition,
  after,
  anApplied,
  readyText,
  syncClaim,
  written,
} from "../../claimbuilders.ts";
import { NOW } from "../../sandboxes.ts";

const KEY = (name: string) => `agents.x-k8s.io/${name}`;
const SEEN = KEY("controller-first-observed-at");
const READY = KEY("claim-first-ready-at");
const SOON = 0.25;
const LATER = 5;
const not_ready = (reason: string) => ({ conditions: [aCondition("Ready", "False", reason)] });
const at = (seconds: number) => new Date(NOW.getTime() + seconds * 1000);

test("the first answer for a Ready Sandbox is the whole truth, and the last", () => {
  const now = new Date("2026-11-21T12:00:00.789Z");
  const claim = aClaim({ metadata: { creationTimestamp: after(0) } });
  const answer = syncClaim(claim, [aClaimed()], { now });
  expect(answer).toEqual({
    status: {
      conditions: [{ ...aCondition("Ready", "True", "DependenciesReady", "Pod is Ready"), observedGeneration: 3 }],
      sandbox: { name: "warm-1", podIPs: ["10.1.0.7"] },
    },
    labels: { [KEY("claim-bound")]: "true" },
    annotations: {
      [KEY("sandbox-name")]: "warm-1",
      [SEEN]: "2026-11-21T12:00:00.789Z",
      [READY]: "2026-11-21T12:00:00.789Z",
    },
    attachments: [anApplied()],
    deletions: {},
    resyncAfterSeconds: LATER,
  });
  const bound = written(claim, answer);
  const again = syncClaim(bound, [aClaimed()], { now: at(1) });
  expect(written(bound, again)).toEqual(bound);
  expect(again).not.toHaveProperty("resyncAfterSeconds");
});

test.for([
  { name: "not Ready, claim new", age: 0.3, sandbox: { status: not_ready("DependenciesNotReady") }, want: 3 },
  { name: "not Ready, claim just seen", age: 3.5, sandbox: { status: not_ready("DependenciesNotReady") }, want: 0.5 },
  { name: "without a Ready condition, claim new", age: 0.3, sandbox: { status: { conditions: [] } }, want: 3 },
  { name: "Ready without address, claim new", age: 0.3, sandbox: { status: { podIPs: [] } }, want: 3 },
  { name: "not Ready, claim four seconds old", age: 4, sandbox: { status: not_ready("DependenciesNotReady") } },
  { name: "failed, claim new", age: 0.3, sandbox: { status: not_ready("PodFailed") } },
  { name: "suspended, claim new", age: 0.3, sandbox: { status: not_ready("SandboxSuspended") } },
  { name: "badly configured, claim new", age: 0.3, sandbox: { status: not_ready("InvalidConfiguration") } },
])("a Sandbox $name", ({ age, sandbox, want }) => {
  const claim = aClaim({ metadata: { creationTimestamp: after(0) } });
  const answer = syncClaim(claim, [aClaimed(sandbox)], { now: at(age) });
  expect(answer.labels, "bound at once, so that the pool gives it no other").toEqual({ [KEY("claim-bound")]: "true" });
  expect(answer.annotations).toMatchObject({ [KEY("sandbox-name")]: "warm-1" });
  if (want === undefined) return expect(answer.status?.sandbox?.name).toBe("warm-1");
  expect(answer).not.toHaveProperty("status");
  const quiet = written(claim, answer);
  expect(syncClaim(quiet, [aClaimed(sandbox)], { now: at(age) }).resyncAfterSeconds).toBeCloseTo(want);
});

test("a claim is quiet for three seconds from when it was first seen: its creation is known to the second only", () => {
  const memories: Memories = new Map();
  const claim = aClaim({ metadata: { creationTimestamp: after(0) } });
  const waiting = aClaimed({ status: not_ready("DependenciesNotReady") });
  const status = (seconds: number) => syncClaim(claim, [waiting], { memories, now: at(seconds) }).status;
  expect([status(0.5), status(3.4)]).toEqual([undefined, undefined]);
  expect(status(3.5)?.sandbox?.name).toBe("warm-1");
  expect(syncClaim(aClaim({ metadata: { creationTimestamp: undefined } }), [waiting]).status).toBeDefined();
});

test("a claim that has shown something is not quiet: what it showed would be wrong", () => {
  const claim = aBoundClaim({ metadata: { creationTimestamp: after(0) } });
  const answer = syncClaim(claim, [aClaimed({ status: { ...not_ready("DependenciesNotReady"), podIPs: [] } })]);
  expect(readyText(answer)).toBe("False DependenciesNotReady DependenciesNotReady");
  expect(answer.status?.sandbox).toEqual({ name: "warm-1" });
});

test("addresses are shown as soon as they are there, Ready or not", () => {
  const answer = syncClaim(aClaim(), [aClaimed({ status: not_ready("DependenciesNotReady") })]);
  expect(answer.status?.sandbox).toEqual({ name: "warm-1", podIPs: ["10.1.0.7"] });
});

test("an answer that writes is looked after: Metacontroller drops a write to a claim that it sees too late", () => {
  const waiting = aClaimed({ status: not_ready("DependenciesNotReady") });
  const shown = written(aClaim(), syncClaim(aClaim(), [waiting]));
  const resync = (...call: Parameters<typeof syncClaim>) => syncClaim(...call).resyncAfterSeconds;
  expect(resync(shown, [waiting]), "writes nothing").toBeUndefined();
  const ready = aBoundClaim({ status: { conditions: [], sandbox: { name: "warm-1" } } });
  expect(resync(ready, [aClaimed()]), "writes the status alone, whose event wakes nobody").toBe(SOON);
  expect(resync(shown, [aClaimed()]), "writes an annotation, too").toBe(LATER);
  expect(resync(aBoundClaim({ metadata: { labels: {} } }), [aClaimed()]), "writes a label").toBe(LATER);
  expect(resync(aBoundClaim({ metadata: { annotations: {} } }), [aClaimed()]), "writes annotations").toBe(LATER);
});

test("first-observed is when this process first saw the claim, first-ready when it first was Ready; to the millisecond", () => {
  const memories: Memories = new Map();
  const claim = aClaim({ metadata: { creationTimestamp: after(0) } });
  syncClaim(claim, [], { memories, now: at(0.111) });
  const waiting = aClaimed({ status: not_ready("DependenciesNotReady") });
  const bound = written(claim, syncClaim(claim, [waiting], { memories, now: at(0.222) }));
  expect(bound.metadata.annotations).toMatchObject({ [SEEN]: "2026-11-21T12:00:00.111Z" });
  expect(bound.metadata.annotations).not.toHaveProperty([READY]);
  const ready = written(bound, syncClaim(bound, [aClaimed()], { memories, now: at(0.333) }));
  expect(ready.metadata.annotations).toMatchObject({
    [SEEN]: "2026-11-21T12:00:00.111Z",
    [READY]: "2026-11-21T12:00:00.333Z",
  });
  const flapped = written(ready, syncClaim(ready, [waiting], { memories, now: at(5) }));
  const back = written(flapped, syncClaim(flapped, [aClaimed()], { memories, now: at(6) }));
  expect(back.metadata.annotations).toEqual(ready.metadata.annotations);
});

test("a claim that was Ready before anybody took note says so, and notes what it can", () => {
  const claim = aBoundClaim({ metadata: { annotations: {} } });
  expect(syncClaim(claim, [aClaimed()]).annotations).toEqual({
    [KEY("sandbox-name")]: "warm-1",
    [SEEN]: NOW.toISOString(),
    [READY]: "unknown",
  });
});

test("a Sandbox that goes is shown as going, and is not answered for", () => {
  const answer = syncClaim(aBoundClaim(), [aClaimed({ metadata: { deletionTimestamp: after(-1) } })]);
  expect(readyText(answer)).toBe("False SandboxNotReady Sandbox is being deleted");
  expect(answer.status?.sandbox?.name).toBe("warm-1");
});

test("foreign conditions and the user's annotations and labels on the claim are kept", () => {
  const foreign = aCondition("example.com/Mine", "True", "Mine");
  const claim = aBoundClaim({ status: { conditions: [foreign] } });
  const answer = syncClaim(claim, [aClaimed()]);
  expect(answer.status?.conditions?.map(({ type }) => type)).toEqual(["Ready", "example.com/Mine"]);
});

test("a claim that is being deleted keeps its Sandboxes, unchanged, for the garbage collector", () => {
  const claim = aBoundClaim({ metadata: { deletionTimestamp: after(-1) } });
  expect(syncClaim(claim, [aClaimed()])).toEqual({ attachments: [anApplied()] });
});
