/** A claim that is bound: its hook reports name, addresses and Ready of its Sandbox in one status, and its annotations before. @module */
import { expect, test } from "vitest";
import {
  aBoundClaim,
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
const not_ready = (reason: string) => ({ conditions: [aCondition("Ready", "False", reason)] });
const at = (seconds: number) => new Date(NOW.getTime() + seconds * 1000);
/** A Sandbox that was bound so many seconds before {@link NOW}. */
const assigned = (secondsAgo: number, since = {}) =>
  aClaimed(since, anApplied({ annotations: { [KEY("assigned-at")]: at(-secondsAgo).toISOString() } }));
/** A bound claim whose Sandbox was not Ready when the binder bound it. The annotations are added to the Sandbox's name. */
const unready = (annotations: object = { [SEEN]: ASSIGNED }) =>
  aBoundClaim({
    metadata: { annotations: { [KEY("sandbox-name")]: "warm-1", ...annotations } },
    status: { ...not_ready("DependenciesNotReady"), sandbox: { name: "warm-1" } },
  });

test("a Sandbox that has become Ready is reported whole, after the annotations that clients read then", () => {
  const now = new Date("2026-11-21T12:00:00.789Z");
  const first = syncClaim(unready(), [aClaimed()], { now });
  const rest = { attachments: [anApplied()], deletions: {} };
  expect(first, "Metacontroller would write the status before the annotations").toEqual({
    annotations: { [KEY("sandbox-name")]: "warm-1", [READY]: "2026-11-21T12:00:00.789Z" },
    ...rest,
  });
  const annotated = written(unready(), first);
  const answer = syncClaim(annotated, [aClaimed()], { now });
  expect(answer).toEqual({
    status: {
      conditions: [{ ...aCondition("Ready", "True", "DependenciesReady", "Pod is Ready"), observedGeneration: 3 }],
      sandbox: { name: "warm-1", podIPs: ["10.1.0.7"] },
    },
    annotations: { [KEY("sandbox-name")]: "warm-1" },
    ...rest,
  });
  const ready = written(annotated, answer);
  const again = syncClaim(ready, [aClaimed()], { now: at(1) });
  expect(written(ready, again)).toEqual(ready);
  expect(again).not.toHaveProperty("resyncAfterSeconds");
});

test.for([
  { name: "is not Ready", status: not_ready("SandboxSuspended"), want: "False SandboxSuspended SandboxSuspended" },
  { name: "has failed", status: not_ready("PodFailed"), want: "False PodFailed PodFailed" },
  { name: "has no address any more", status: { podIPs: [] }, want: "False SandboxNotReady Sandbox is not ready" },
])("a Sandbox that $name, bound a moment ago: the claim reports that at once", ({ status, want }) => {
  expect(readyText(syncClaim(aBoundClaim(), [assigned(0.3, { status })]))).toBe(want);
});

test.for([
  { name: "no conditions", status: { conditions: [], podIPs: [] } },
  { name: "no Ready among them", status: { conditions: [aCondition("PodScheduled", "True", "Scheduled")] } },
  { name: "no status", status: { conditions: undefined, podIPs: [] } },
])("a Sandbox that is seen with $name has reported before: the claim stays as it is", ({ status }) => {
  for (const claim of [aBoundClaim(), unready()]) {
    expect(syncClaim(claim, [aClaimed({ status })])).toEqual({ attachments: [anApplied()], deletions: {} });
  }
});

test("an expiry is reported at once, whether or not the Sandbox has reported", () => {
  const claim = aBoundClaim({ spec: { lifecycle: { shutdownTime: after(-1) } } });
  for (const sandbox of [assigned(0.3), aClaimed({ status: { conditions: [], podIPs: [] } })]) {
    expect(readyText(syncClaim(claim, [sandbox]))).toMatch("False ClaimExpired");
  }
});

test("addresses are shown as soon as they are there, Ready or not", () => {
  const answer = syncClaim(unready(), [aClaimed({ status: not_ready("SandboxSuspended") })]);
  expect(answer.status?.sandbox).toEqual({ name: "warm-1", podIPs: ["10.1.0.7"] });
});

test("an answer that writes asks for no other look: what it has written brings the claim back", () => {
  const resync = (...call: Parameters<typeof syncClaim>) => syncClaim(...call).resyncAfterSeconds;
  expect(resync(unready(), [aClaimed()]), "annotations").toBeUndefined();
  expect(resync(aBoundClaim(), [aClaimed({ status: not_ready("SandboxSuspended") })]), "the status").toBeUndefined();
});

test("first-ready is when it first was Ready; first-observed, if it is lacking, when it got its Sandbox; once each", () => {
  const claim = unready({});
  const waiting = assigned(3, { status: not_ready("DependenciesNotReady") });
  const seen = written(claim, syncClaim(claim, [waiting], { now: at(0.222) }));
  expect(seen.metadata.annotations).toMatchObject({ [SEEN]: "2026-11-21T11:59:57.000Z" });
  expect(seen.metadata.annotations).not.toHaveProperty([READY]);
  const ready = written(seen, syncClaim(seen, [aClaimed()], { now: at(0.333) }));
  expect(ready.metadata.annotations).toMatchObject({
    [SEEN]: "2026-11-21T11:59:57.000Z",
    [READY]: "2026-11-21T12:00:00.333Z",
  });
  const flapped = written(ready, syncClaim(ready, [waiting], { now: at(5) }));
  const back = written(flapped, syncClaim(flapped, [aClaimed()], { now: at(6) }));
  expect(back.metadata.annotations).toEqual(ready.metadata.annotations);
});

test("a binding in the future is no time at which anything was seen", () => {
  const waiting = assigned(-60, { status: not_ready("DependenciesNotReady") });
  expect(syncClaim(unready({}), [waiting]).annotations).toMatchObject({ [SEEN]: NOW.toISOString() });
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

/** Ready as it has been for so many seconds; words: `status reason`. */
const since = (seconds: number, words: string) => {
  const [status = "", reason = ""] = words.split(" ");
  return { ...aCondition("Ready", status, reason), lastTransitionTime: after(seconds) };
};
const UP = "True DependenciesReady";
const DOWN = "False DependenciesNotReady";
const FAILED = "False PodFailed";

interface View {
  name: string;
  /** What the claim reports, since when. */
  claim: [words: string, seconds: number];
  sandbox: [words: string, seconds: number];
  isOlder: boolean;
}
const views: View[] = [
  { name: "was taken back before the claim's was", claim: [UP, -1], sandbox: [DOWN, -2], isOlder: true },
  { name: "was taken back in the same second", claim: [UP, -1], sandbox: [DOWN, -1], isOlder: true },
  { name: "was taken back after the claim's was", claim: [UP, -2], sandbox: [DOWN, -1], isOlder: false },
  {
    name: "was taken back before, and that is long ago: clocks differ",
    claim: [UP, -4],
    sandbox: [DOWN, -5],
    isOlder: false,
  },
  { name: "was taken back before, in the future: clocks differ", claim: [UP, 5], sandbox: [DOWN, 4], isOlder: false },
  { name: "is not known since the same second", claim: [UP, -1], sandbox: ["Unknown Odd", -1], isOlder: false },
  {
    name: "has another reason since the same second",
    claim: [DOWN, -1],
    sandbox: ["False SandboxSuspended", -1],
    isOlder: false,
  },
  { name: "is there since before it failed", claim: [FAILED, -1], sandbox: [UP, -9], isOlder: true },
  { name: "is lacking since before it failed", claim: [FAILED, -1], sandbox: [DOWN, -9], isOlder: true },
  { name: "is there since after it failed", claim: [FAILED, -2], sandbox: [UP, -1], isOlder: false },
  {
    name: "is there since before it failed, which is long ago",
    claim: [FAILED, -4],
    sandbox: [UP, -9],
    isOlder: false,
  },
  { name: "failed in the second in which it was there", claim: [UP, -1], sandbox: [FAILED, -1], isOlder: false },
];
test.for(views)("a Sandbox whose Ready $name: the view may be older than the claim: $isOlder", (view) => {
  const { claim, sandbox, isOlder } = view;
  const bound = aBoundClaim({ status: { conditions: [since(claim[1], claim[0])], sandbox: { name: "warm-1" } } });
  const answer = syncClaim(bound, [aClaimed({ status: { conditions: [since(sandbox[1], sandbox[0])] } })]);
  const [, reason] = sandbox[0].split(" ");
  expect(readyText(answer)).toBe(isOlder ? undefined : `${sandbox[0]} ${reason}`);
  expect([answer.attachments, answer.resyncAfterSeconds]).toEqual([[anApplied()], isOlder ? 2 : undefined]);
});

test("a Sandbox that was Ready before its Pod finished is older than a claim that reports the end with an older time", () => {
  const finished = { ...aCondition("Finished", "True", "PodFailed"), lastTransitionTime: after(-1) };
  const status = { conditions: [finished, since(-9, FAILED)], sandbox: { name: "warm-1" } };
  const answer = syncClaim(aBoundClaim({ status }), [aClaimed({ status: { conditions: [since(-2, UP)] } })]);
  expect([readyText(answer), answer.resyncAfterSeconds]).toEqual([undefined, 2]);
});

test("an annotation that was emptied by hand gets its time again", () => {
  const claim = aBoundClaim({ metadata: { annotations: { [SEEN]: "", [READY]: "" } } });
  expect(syncClaim(claim, [aClaimed()]).annotations).toMatchObject({ [SEEN]: ASSIGNED, [READY]: "unknown" });
});

test("an older view of a Sandbox that has finished does not undo the expiry that depends on it", () => {
  const finished = { ...aCondition("Finished", "True", "PodFailed"), lastTransitionTime: after(-1) };
  const status = { conditions: [finished, since(-1, FAILED)], sandbox: { name: "warm-1" } };
  const claim = aBoundClaim({ spec: { lifecycle: { ttlSecondsAfterFinished: 0 } }, status });
  const answer = syncClaim(claim, [aClaimed({ status: { conditions: [since(-2, UP)] } })]);
  expect([readyText(answer), answer.resyncAfterSeconds]).toEqual([undefined, 2]);
});

test.for(['{"labels":null}', '{"annotations":"a"}', "[1]"])(
  "a record of the claim's metadata that is broken stops no hook: %s",
  (record) => {
    const sandbox = aClaimed({ metadata: { annotations: { [KEY("claim-pod-metadata")]: record } } });
    expect(readyText(syncClaim(aBoundClaim(), [sandbox]))).toBe("True DependenciesReady Pod is Ready");
  },
);
