/** What the keeper reports of children that exist, if the Sandbox hook has another version than the keeper. @module */
import { afterEach, beforeEach, expect, test } from "vitest";
import { buildPod } from "../../hooks/sandbox/pod.ts";
import { applyCreate, LAST_APPLIED_ANNOTATION } from "../../packages/api/objects/apply.ts";
import type { KubeObject } from "../../packages/api/objects/objects.ts";
import { refusal } from "../kube/fakeapi.ts";
import { aSandbox } from "../sandboxes.ts";
import { POD, putSandbox, SANDBOX, unresolvedOf } from "./keeping.ts";
import { begin, end, failSync, keep, keeper, OURS, pass, READY, requests, server } from "./stage.ts";

const QUOTA = 'pods "demo" is forbidden: exceeded quota: small, requested: pods=1, used: pods=0, limited: pods=0';
const FREEZE =
  `pods "demo" is forbidden: ValidatingAdmissionPolicy 'freeze' with binding 'freeze' denied request: until`;
const REPORT = `cannot update Pod "demo": ${FREEZE} Monday`;

/** Puts the Pod on the server as Metacontroller has it from a hook whose Pods have one more label than the keeper's. */
function putPodOfAnotherVersion(): void {
  const { metadata, ...rest } = buildPod(aSandbox());
  const labels = { ...metadata.labels, ...OURS.labels, "example.com/team": "agents" };
  const pod = applyCreate({ ...rest, metadata: { ...metadata, labels, namespace: "team-a" } });
  server.put(POD, { ...pod, metadata: { ...pod.metadata, ownerReferences: OURS.ownerReferences } });
}

const put = (...words: string[]): void => {
  const problems = words.map((message) => ({ kind: "Pod", name: "demo", state: "stuck", message }));
  const annotations = { "agents.x-k8s.io/unresolved": JSON.stringify({ generation: 1, problems }) };
  putSandbox(server, READY, words.length > 0 ? { metadata: { annotations } } : {});
};
const refuse = (words: string) => failSync("Sandbox", "demo", "uid-demo", words);
const messages = () =>
  (unresolvedOf(server) as { problems: { message: string }[] } | undefined)?.problems.map(({ message }) => message);
const dryRuns = () => requests().filter(({ query }) => query?.["dryRun"] === "All");

beforeEach(() => {
  begin();
  putPodOfAnotherVersion();
});
afterEach(end);

test("a creation that was refused before is no update that is refused now", async () => {
  put();
  await keep(1);
  refuse(QUOTA);
  await pass(3600);
  expect(messages()).toBeUndefined();
  expect(keeper.actions).toEqual([]);
});

test("a report is withdrawn as soon as the API server would accept the update", async () => {
  put(REPORT);
  await keep(5);
  expect(messages()).toBeUndefined();
  expect(keeper.actions).toEqual(["annotation removed"]);
});

test("the dry run asks for what would change, and for nothing else", async () => {
  put(REPORT);
  await keep(5);
  const applied = (server.get(POD) as KubeObject).metadata.annotations?.[LAST_APPLIED_ANNOTATION] ?? "";
  const { metadata: { labels: { "example.com/team": _, ...labels }, ...metadata }, ...rest } = JSON.parse(applied);
  expect(dryRuns().map(({ method, path, body }) => ({ method, path, body }))).toEqual([{
    method: "PATCH",
    path: POD,
    body: {
      metadata: {
        labels: { "example.com/team": null },
        annotations: { [LAST_APPLIED_ANNOTATION]: expect.any(String) },
      },
    },
  }]);
  const { metadata: { annotations } } = dryRuns()[0]?.body as KubeObject;
  expect(JSON.parse(annotations?.[LAST_APPLIED_ANNOTATION] ?? "")).toMatchObject({
    ...{ apiVersion: rest.apiVersion, kind: rest.kind },
    metadata: { ...metadata, labels },
  });
});

test("an update that the API server refuses is reported in its present words, until it accepts the update", async () => {
  server.onDryRun = () => refusal(422, `${FREEZE} Monday`);
  put();
  await keep(1);
  refuse(QUOTA);
  await pass(5);
  expect(messages()).toEqual([REPORT]);
  server.onDryRun = () => refusal(422, `${FREEZE} Tuesday`);
  await pass(3600);
  expect(messages()).toEqual([`cannot update Pod "demo": ${FREEZE} Tuesday`]);
  server.onDryRun = () => ({ status: 200, body: {} });
  await pass(60);
  expect(messages()).toBeUndefined();
});

test.for<[why: string, message: string]>([
  ["a webhook takes no dry runs", 'admission webhook "x.example.com" does not support dry run'],
  [
    "the keeper lacks the right",
    'pods "demo" is forbidden: User "system:serviceaccount:a:b" cannot patch resource "pods"',
  ],
])("if %s, what was reported holds, but not the words of a creation", async ([, message]) => {
  server.onDryRun = () => refusal(message.includes("User") ? 403 : 400, message);
  put(REPORT);
  await keep(1);
  refuse(QUOTA);
  await pass(60);
  expect(messages()).toEqual([REPORT]);
  put(`cannot update Pod "demo": ${QUOTA}`);
  await pass(60);
  expect(messages()).toBeUndefined();
});

test("a Pod that is to be deleted: the words of a creation or of an update are not those of a deletion", async () => {
  const suspended = { spec: { operatingMode: "Suspended" } };
  server.put(SANDBOX, { ...aSandbox(suspended) });
  await keep(1);
  refuse(QUOTA);
  await pass(60);
  expect(messages()).toBeUndefined();
  refuse(`[can't delete Pod team-a/demo: ${FREEZE}, ${QUOTA}]`);
  await pass(60);
  expect(messages()).toEqual([`cannot delete Pod "demo": [can't delete Pod team-a/demo: ${FREEZE}, ${QUOTA}]`]);
  expect(dryRuns()).toEqual([]);
});
