/** A claim that has a Sandbox: one status for name, addresses and Ready; the first is the binder's while it may come. @module */
import { expect, test } from "vitest";
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
const ASSIGNED = "2026-11-21T11:59:50.100Z";
const SOON = 0.25;
const LATER = 5;
const not_ready = (reason: string) => ({ conditions: [aCondition("Ready", "False", reason)] });
const at = (seconds: number) => new Date(NOW.getTime() + seconds * 1000);
/** A Sandbox that was handed over so many seconds before {@link NOW}. */
const assigned = (secondsAgo: number, since = {}) =>
  aClaimed(since, anApplied({ annotations: { [KEY("assigned-at")]: at(-secondsAgo).toISOString() } }));

test("what the binder has not said in time the hook says whole; times are those of the hand-over", () => {
  const now = new Date("2026-11-21T12:00:00.789Z");
  const claim = aClaim();
  const first = syncClaim(claim, [aClaimed()], { now });
  const rest = { attachments: [anApplied()], deletions: {} };
  const annotations = { [KEY("sandbox-name")]: "warm-1", [SEEN]: ASSIGNED, [READY]: "2026-11-21T12:00:00.789Z" };
  expect(first, "Metacontroller would write the status before the annotations").toEqual({
    ...{ annotations, ...rest, resyncAfterSeconds: LATER },
  });
  const annotated = written(claim, first);
  const answer = syncClaim(annotated, [aClaimed()], { now });
  expect(answer).toEqual({
    status: {
      conditions: [{ ...aCondition("Ready", "True", "DependenciesReady", "Pod is Ready"), observedGeneration: 3 }],
      sandbox: { name: "warm-1", podIPs: ["10.1.0.7"] },
    },
    annotations: { [KEY("sandbox-name")]: "warm-1" },
    ...rest,
    resyncAfterSeconds: SOON,
  });
  const bound = written(annotated, answer);
  const again = syncClaim(bound, [aClaimed()], { now: at(1) });
  expect(written(bound, again)).toEqual(bound);
  expect(again).not.toHaveProperty("resyncAfterSeconds");
});

test.for([
  { name: "Ready, given a moment ago", sandbox: assigned(0.3), isSilent: true },
  { name: "Ready, given just not two seconds ago", sandbox: assigned(1.999), isSilent: true },
  { name: "Ready, given two seconds ago", sandbox: assigned(2), isSilent: false },
  { name: "Ready, given in the future: clocks differ", sandbox: assigned(-1), isSilent: false },
  { name: "Ready without a time", sandbox: aClaimed({}, anApplied({ annotations: { [KEY("assigned-at")]: "x" } })) },
  { name: "not Ready, given a moment ago", sandbox: assigned(0.3, { status: not_ready("DependenciesNotReady") }) },
  { name: "failed, given a moment ago", sandbox: assigned(0.3, { status: not_ready("PodFailed") }) },
  { name: "Ready without address, given a moment ago", sandbox: assigned(0.3, { status: { podIPs: [] } }) },
  { name: "that has said nothing", sandbox: assigned(9, { status: { conditions: [] } }), isSilent: true },
  { name: "without a status", sandbox: aClaimed({ status: { conditions: undefined, podIPs: [] } }), isSilent: true },
])("a Sandbox $name: the hook says nothing of it: $isSilent", ({ sandbox, isSilent = false }) => {
  const answer = syncClaim(aClaim(), [sandbox]);
  expect(answer.attachments).toHaveLength(1);
  if (isSilent) {
    expect(answer).not.toHaveProperty("status");
    return expect(answer).not.toHaveProperty("annotations");
  }
  expect(answer.annotations?.[KEY("sandbox-name")]).toBe("warm-1");
});

test("a claim that has shown something is never left to the binder: what it showed would be wrong", () => {
  const shown = aBoundClaim({ status: { conditions: [], sandbox: undefined } });
  expect(syncClaim(shown, [assigned(0.3)]).status?.sandbox?.name).toBe("warm-1");
  const answer = syncClaim(aBoundClaim(), [
    assigned(0.3, { status: { ...not_ready("DependenciesNotReady"), podIPs: [] } }),
  ]);
  expect(readyText(answer)).toBe("False DependenciesNotReady DependenciesNotReady");
  expect(answer.status?.sandbox).toEqual({ name: "warm-1" });
});

test("a claim that showed a Sandbox is told at once that the next one has said nothing yet", () => {
  const answer = syncClaim(aBoundClaim(), [aClaimed({ status: { conditions: [], podIPs: [] } })]);
  expect(readyText(answer)).toBe("False SandboxNotReady Sandbox is not ready");
});

test("an expiry is told at once, binder or not", () => {
  const claim = aClaim({ spec: { lifecycle: { shutdownTime: after(-1) } } });
  expect(readyText(syncClaim(claim, [assigned(0.3)]))).toMatch("False ClaimExpired");
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
  expect(resync(aBoundClaim({ metadata: { annotations: {} } }), [aClaimed()]), "writes annotations").toBe(LATER);
});

test("first-observed is when the claim was given its Sandbox, first-ready when it first was Ready; once each", () => {
  const claim = aClaim();
  const waiting = assigned(3, { status: not_ready("DependenciesNotReady") });
  const bound = written(claim, syncClaim(claim, [waiting], { now: at(0.222) }));
  expect(bound.metadata.annotations).toMatchObject({ [SEEN]: "2026-11-21T11:59:57.000Z" });
  expect(bound.metadata.annotations).not.toHaveProperty([READY]);
  const ready = written(bound, syncClaim(bound, [aClaimed()], { now: at(0.333) }));
  expect(ready.metadata.annotations).toMatchObject({
    [SEEN]: "2026-11-21T11:59:57.000Z",
    [READY]: "2026-11-21T12:00:00.333Z",
  });
  const flapped = written(ready, syncClaim(ready, [waiting], { now: at(5) }));
  const back = written(flapped, syncClaim(flapped, [aClaimed()], { now: at(6) }));
  expect(back.metadata.annotations).toEqual(ready.metadata.annotations);
});

test("a hand-over of the future is no time at which anything was seen", () => {
  expect(syncClaim(aClaim(), [assigned(-60)]).annotations).toMatchObject({ [SEEN]: NOW.toISOString() });
});

test("a claim that was Ready before anybody took note says so, and notes what it can", () => {
  const claim = aBoundClaim({ metadata: { annotations: {} } });
  expect(syncClaim(claim, [aClaimed()]).annotations).toEqual({
    [KEY("sandbox-name")]: "warm-1",
    [SEEN]: ASSIGNED,
    [READY]: "unknown",
  });
});

test("a Sandbox that goes is shown as going, and is not answered for", () => {
  const answer = syncClaim(aBoundClaim(), [aClaimed({ metadata: { deletionTimestamp: after(-1) } })]);
  expect(readyText(answer)).toBe("False SandboxNotReady Sandbox is being deleted");
  expect(answer.status?.sandbox?.name).toBe("warm-1");
});

test("foreign conditions on the claim are kept", () => {
  const foreign = aCondition("example.com/Mine", "True", "Mine");
  const claim = aBoundClaim({ status: { conditions: [foreign] } });
  const answer = syncClaim(claim, [aClaimed()]);
  expect(answer.status?.conditions?.map(({ type }) => type)).toEqual(["Ready", "example.com/Mine"]);
});

test("a claim that is being deleted keeps its Sandboxes, unchanged, for the garbage collector", () => {
  const claim = aBoundClaim({ metadata: { deletionTimestamp: after(-1) } });
  expect(syncClaim(claim, [aClaimed()])).toEqual({ attachments: [anApplied()] });
});

const since = (seconds: number, status: "True" | "False") => ({
  ...aCondition("Ready", status, status === "True" ? "DependenciesReady" : "DependenciesNotReady"),
  lastTransitionTime: after(seconds),
});

test.for([
  { name: "a moment ago, before the claim's was", sandbox: -2, claim: -1, writes: false },
  { name: "in the same second as the claim's was", sandbox: -1, claim: -1, writes: false },
  { name: "after the claim's was", sandbox: -1, claim: -2, writes: true },
  { name: "before the claim's was, and long ago: clocks differ", sandbox: -4, claim: -3, writes: true },
  { name: "before the claim's was, and in the future: clocks differ", sandbox: 4, claim: 5, writes: true },
  {
    name: "before the claim's was, and the claim shows another",
    sandbox: -2,
    claim: -1,
    shows: "warm-2",
    writes: true,
  },
])("a Sandbox whose Ready was taken back $name: the claim's is, too: $writes", (times) => {
  const { sandbox, claim, shows = "warm-1", writes } = times;
  const bound = aBoundClaim({ status: { conditions: [since(claim, "True")], sandbox: { name: shows } } });
  const answer = syncClaim(bound, [aClaimed({ status: { conditions: [since(sandbox, "False")] } })]);
  expect(readyText(answer)).toBe(writes ? "False DependenciesNotReady DependenciesNotReady" : undefined);
  expect(answer.attachments).toEqual([anApplied()]);
  if (!writes) expect(answer.resyncAfterSeconds).toBe(2);
});

test("a Sandbox that failed in the second in which it was Ready is shown to have failed", () => {
  const bound = aBoundClaim({ status: { conditions: [since(-1, "True")], sandbox: { name: "warm-1" } } });
  const failed = { ...since(-1, "False"), reason: "PodFailed" };
  expect(readyText(syncClaim(bound, [aClaimed({ status: { conditions: [failed] } })]))).toMatch(/^False PodFailed/);
});
