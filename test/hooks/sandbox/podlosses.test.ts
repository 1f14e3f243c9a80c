/** A Pod keeps disappearing: each next one waits longer, the other children stay, a condition reports it. @module */
import { expect, test } from "vitest";
import type { Sandbox, SandboxStatus } from "../../../packages/api/sandbox.ts";
import { syncSandbox } from "../../../hooks/sandbox/sync.ts";
import { findCondition } from "../../../packages/api/objects/conditions.ts";
import type { KubeObject } from "../../../packages/api/objects/objects.ts";
import { aChild, aReadyPod, aRequest, aSandbox, NOW } from "../../sandboxes.ts";

const CONFIG = { clusterDomain: "cluster.local" };
const at = (seconds: number) => new Date(NOW.getTime() + seconds * 1000);
const lost = ({ status }: { status?: SandboxStatus | undefined }) => findCondition(status?.conditions, "PodLost");
const kinds = ({ children }: { children: { kind: string }[] }) => children.map(({ kind }) => kind).sort();
const spec = { service: true, volumeClaimTemplates: [{ metadata: { name: "data" }, spec: {} }] };
const rest = [aChild("Service"), aChild("PersistentVolumeClaim", { metadata: { name: "data-demo" } })];
const ALL = ["PersistentVolumeClaim", "Pod", "Service"];
const HELD = ["PersistentVolumeClaim", "Service"];

/** A Sandbox that is asked about in the midst of its life, and keeps what it answered. */
function begin(over: { spec?: object } = {}) {
  let sandbox: Sandbox = aSandbox({ spec: { ...spec, ...over.spec } });
  return (seconds: number, ...pods: KubeObject[]) => {
    const answer = syncSandbox(aRequest(sandbox, [...rest, ...pods]), at(seconds), CONFIG);
    sandbox = { ...sandbox, status: answer.status };
    return answer;
  };
}

const pod = (seconds: number, metadata = {}) =>
  aReadyPod({ metadata: { creationTimestamp: at(seconds).toISOString(), ...metadata } });

test("one that was deleted is made again at once; the next losses wait 0.25, 1, 2, 4 … 300 s", () => {
  const sync = begin();
  sync(0, pod(0));
  let now = 1;
  const waits: number[] = [];
  for (let count = 1; count <= 12; count++) {
    const made = sync(now);
    expect([kinds(made), lost(made)?.status]).toEqual([ALL, "True"]);
    const held = sync(now + 0.1);
    expect(kinds(held), "all but the Pod is answered").toEqual(HELD);
    expect(held.status, "no write for a wait").toEqual(made.status);
    waits.push(Number(held.resyncAfterSeconds?.toFixed(2)) + 0.1);
    now += 0.1 + (held.resyncAfterSeconds ?? 0);
  }
  expect(waits.map((seconds) => Math.round(seconds * 100) / 100)).toEqual([
    ...[0.25, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300],
  ]);
});

test("one that is asked for and never seen counts, too: what deletes it may be faster than any watch", () => {
  const sync = begin();
  const made: number[] = [];
  for (let now = 0; now < 60; now += 0.0625) if (kinds(sync(now)).includes("Pod")) made.push(now);
  const early = made.filter((now) => now < 2).length;
  expect(made.length - early, "in the 58 s after the first two").toBeLessThan(10);
});

test("it counts on where the new Pod is seen before the condition: the Pod itself says how many were lost", () => {
  const sandbox = aSandbox({ spec, status: begin()(0, pod(0)).status });
  const before = syncSandbox(aRequest(sandbox, rest), at(1), CONFIG);
  const annotations = before.children.find(({ kind }) => kind === "Pod")?.metadata.annotations;
  expect(annotations).toMatchObject({ "agents.x-k8s.io/pod-losses": "1 2026-11-21T12:00:01.000Z" });
  const answer = syncSandbox(aRequest(sandbox, [...rest, pod(1, { annotations })]), at(1.1), CONFIG);
  expect(lost(answer)?.message).toBe(lost(before)?.message);
  expect(answer.children.find(({ kind }) => kind === "Pod")?.metadata.annotations, "kept").toEqual(annotations);
  const next = syncSandbox(aRequest({ ...sandbox, status: answer.status }, rest), at(2), CONFIG);
  expect(lost(next)?.message).toMatch(/^Pod has disappeared 2 times, and was made again at 2026-11-21T12:00:02.000Z/);
});

test("it says how often, and when the last was made; a Pod that lasts has it go", () => {
  const sync = begin();
  sync(0, pod(0));
  sync(1);
  expect(lost(sync(1.5))).toMatchObject({
    reason: "PodDeleted",
    message:
      "Pod has disappeared 2 times, and was made again at 2026-11-21T12:00:01.500Z. If that one disappears, too, " +
      "the next is made 1 s later at the soonest: find out what deletes it",
  });
  const starting = aReadyPod({ metadata: { creationTimestamp: at(1.5).toISOString() }, status: { conditions: [] } });
  const young = sync(2, starting);
  expect([lost(young)?.status, young.resyncAfterSeconds]).toEqual(["True", 59.5]);
  const ready = sync(2.5, pod(1.5));
  expect([lost(ready)?.status, ready.resyncAfterSeconds], "Ready, but not for long").toEqual(["True", 1]);
  const old = sync(3.5, pod(1.5));
  expect([lost(old), old.resyncAfterSeconds]).toEqual([undefined, undefined]);
});

test("suspended, expired or refused it counts nothing, and a resume waits for nothing", () => {
  const suspended = aSandbox({ spec: { operatingMode: "Suspended" }, status: begin()(0, pod(0)).status });
  const answer = syncSandbox(aRequest(suspended), at(1), CONFIG);
  expect(lost(answer)).toBeUndefined();
  const resumed = aSandbox({ status: answer.status });
  expect(kinds(syncSandbox(aRequest(resumed), at(2), CONFIG))).toEqual(["Pod"]);
  expect(lost(syncSandbox(aRequest(resumed), at(2), CONFIG))).toBeUndefined();
  const problems = [{ kind: "Pod", name: "demo", state: "refused", message: "quota" }];
  const refused = aSandbox({
    status: begin()(0, pod(0)).status,
    metadata: { annotations: { "agents.x-k8s.io/unresolved": JSON.stringify({ generation: 1, problems }) } },
  });
  expect(lost(syncSandbox(aRequest(refused), at(1), CONFIG))).toBeUndefined();
});

test("one that waits for a volume was not created, and counts nothing", () => {
  const answer = (status: Sandbox["status"], seconds: number, metadata: object = {}) =>
    syncSandbox(aRequest({ ...aSandbox({ spec, metadata }), status }, [aChild("Service")]), at(seconds), CONFIG);
  const problems = [{ kind: "PersistentVolumeClaim", name: "data-demo", state: "taken", message: "another's" }];
  const taken = { annotations: { "agents.x-k8s.io/unresolved": JSON.stringify({ generation: 1, problems }) } };
  const status = answer(undefined, 0).status;
  const later = answer(answer(status, 30).status, 60, taken);
  expect([kinds(later), lost(later), later.resyncAfterSeconds]).toEqual([HELD, undefined, 5]);
  const other = answer(begin()(0, pod(0)).status, 1, taken);
  expect(lost(other), "the Pod was deleted with its volume").toBeUndefined();
});

test("one that waited for a volume that was being deleted is created for the first time, not again", () => {
  const ending = aChild("PersistentVolumeClaim", { metadata: { name: "data-demo", deletionTimestamp: "2026-11-21" } });
  const sync = (status: Sandbox["status"], seconds: number, volume: KubeObject) =>
    syncSandbox(aRequest({ ...aSandbox({ spec }), status }, [aChild("Service"), volume]), at(seconds), CONFIG);
  const waiting = sync(undefined, 0, ending);
  expect(kinds(waiting)).toEqual(HELD);
  const [, volume = ending] = rest;
  const first = sync(waiting.status, 60, volume);
  expect([kinds(first), lost(first)]).toEqual([ALL, undefined]);
});

test("a condition that another hand has written holds nothing up for ever", () => {
  const condition = { ...{ type: "PodLost", status: "True", reason: "PodDeleted" }, lastTransitionTime: "" };
  const says = (message: string) => {
    const status = { conditions: [{ ...condition, message }] };
    return kinds(syncSandbox(aRequest(aSandbox({ status } as never)), at(0), CONFIG));
  };
  const words = (when: string) => `Pod has disappeared 999999999 times, and was made again at ${when}. `;
  expect(says(words("9999-01-01T00:00:00Z"))).toEqual(["Pod"]);
  expect(says(words("never"))).toEqual(["Pod"]);
  expect(says("anything")).toEqual(["Pod"]);
  expect(says(words(at(-1).toISOString()))).toEqual([]);
});

test("a time that is too far ahead is no wait that Metacontroller would take for none", () => {
  const annotations = { "agents.x-k8s.io/pod-losses": "1 +275760-09-13T00:00:00.000Z" };
  const answer = syncSandbox(aRequest(aSandbox({ spec }), [...rest, pod(0, { annotations })]), at(1), CONFIG);
  expect([lost(answer)?.status, answer.resyncAfterSeconds]).toEqual(["True", 86_400]);
});
