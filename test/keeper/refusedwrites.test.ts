/** Which writes of children are outstanding, and which refusals of the API server the keeper remembers. @module */
import { expect, test } from "vitest";
import { buildPod, keepPod } from "../../hooks/sandbox/pod.ts";
import { buildService } from "../../hooks/sandbox/service.ts";
import type { Sandbox } from "../../packages/api/sandbox.ts";
import { applyCreate } from "../../packages/api/objects/apply.ts";
import type { KubeObject } from "../../packages/api/objects/objects.ts";
import { createRefusedWrites, type SyncError } from "../../packages/keeper/refusedwrites.ts";
import { outstandingWrite } from "../../packages/keeper/stuckchildren.ts";
import { aSandbox, NOW } from "../sandboxes.ts";

/** As Metacontroller makes a child: labelled, and remembered. */
function made(desired: object, over: object = {}): KubeObject {
  const { metadata, ...rest } = desired as KubeObject;
  const labels = { ...metadata.labels, "controller-uid": "uid-demo" };
  const object = applyCreate({ ...rest, metadata: { ...metadata, labels, namespace: "team-a" } }) as KubeObject;
  return { ...object, metadata: { ...object.metadata, namespace: "team-a", uid: "u", ...over } };
}

const labelled = (team: string, spec = {}): Sandbox =>
  aSandbox({ spec: { podTemplate: { metadata: { labels: { team } }, spec: { containers: [] } }, ...spec } });
const blue = labelled("blue");
const pod = made(buildPod(blue));
const service = made(buildService(blue));

test.for(
  [
    ["a Pod as it should be", blue, pod, undefined],
    ["a Pod with other labels than its template's", labelled("red"), pod, "update"],
    ["a Pod of a suspended Sandbox", labelled("blue", { operatingMode: "Suspended" }), pod, "delete"],
    [
      "the same, on its way out",
      labelled("blue", { operatingMode: "Suspended" }),
      made(buildPod(blue), { deletionTimestamp: "2026-01-01T00:00:00Z" }),
      undefined,
    ],
    ["a Service as it should be", labelled("blue", { service: true }), service, undefined],
    ["a Service that is not wanted", labelled("blue", { service: false }), service, "delete"],
  ] as const,
)("outstandingWrite() of %s", ([, sandbox, found, want]) => {
  expect(outstandingWrite(sandbox, found)?.verb).toBe(want);
});

test("what the hook keeps it does not want to change", () => {
  expect(keepPod(blue, pod as never).metadata.labels).toMatchObject({ team: "blue" });
});

const WORDS = 'admission webhook "guard.example.com" denied the request: change freeze';
const event = (uid: string, message: string, secondsAgo = 0): SyncError => ({
  metadata: { name: "e", namespace: "team-a" },
  involvedObject: { kind: "Sandbox", namespace: "team-a", name: "demo", uid },
  message: `Sync error: can't reconcile children for Sandbox team-a/demo: ${message}`,
  lastTimestamp: new Date(NOW.getTime() - secondsAgo * 1000).toISOString(),
});

test("refusals are remembered for a while, and each has its Sandbox looked at; other failures are not", () => {
  const asked: string[] = [];
  const { handler, of } = createRefusedWrites(
    () => NOW.getTime(),
    (kind, { namespace, name }) => asked.push(`${kind}/${namespace}/${name}`),
  );
  handler.observe(event("a", WORDS));
  handler.observe(event("b", "sync hook failed: connection refused"));
  handler.observe(event("c", WORDS, 1000));
  const alike = event("d", WORDS);
  handler.observe({ ...alike, message: `(combined from similar events): ${alike.message}` });
  expect(["a", "b", "c", "d"].map((uid) => of({ namespace: "team-a", uid }, NOW.getTime()))).toEqual([
    WORDS,
    undefined,
    undefined,
    WORDS,
  ]);
  expect(of({ namespace: "team-a", uid: "a" }, NOW.getTime() + 3600_000)).toBeUndefined();
  expect(asked).toEqual(["Sandbox/team-a/demo", "Sandbox/team-a/demo"]);
});

test("an Event says nothing of an object in another namespace", () => {
  const asked: string[] = [];
  const { handler, of } = createRefusedWrites(
    () => NOW.getTime(),
    (kind, { namespace, name }) => asked.push(`${kind}/${namespace}/${name}`),
  );
  const { metadata, ...rest } = event("victim", WORDS);
  handler.observe({ ...rest, metadata: { ...metadata, namespace: "team-b" } });
  handler.observe({ ...rest, metadata, involvedObject: { ...rest.involvedObject, namespace: "team-b" } });
  expect(asked).toEqual([]);
  handler.observe(event("victim", WORDS));
  expect(["team-a", "team-b"].map((namespace) => of({ namespace, uid: "victim" }, NOW.getTime()))).toEqual([
    WORDS,
    undefined,
  ]);
});

test("an Event of the future ends as any other", () => {
  const { handler, of } = createRefusedWrites(() => NOW.getTime(), () => {});
  handler.observe(event("a", WORDS, -1e6));
  const a = { namespace: "team-a", uid: "a" };
  expect([of(a, NOW.getTime()), of(a, NOW.getTime() + 3600_000)]).toEqual([WORDS, undefined]);
});

test("one namespace's Events push out no other's", () => {
  const { handler, of } = createRefusedWrites(() => NOW.getTime(), () => {});
  handler.observe(event("a", WORDS));
  const many = { metadata: { name: "e", namespace: "team-b" } };
  for (let n = 0; n < 6000; n++) {
    const { involvedObject, ...rest } = event(`b-${n}`, WORDS);
    handler.observe({ ...rest, ...many, involvedObject: { ...involvedObject, namespace: "team-b" } });
  }
  expect(of({ namespace: "team-a", uid: "a" }, NOW.getTime())).toBe(WORDS);
});
