/** A Sandbox for which another controller has noted that its Pod has another name: that Pod stays, or is forgotten. @module */
import { afterEach, beforeEach, expect, test } from "vitest";
import { nameHash } from "../../packages/api/objects/names.ts";
import { aChild } from "../sandboxes.ts";
import { asked, begin, end, keep, keeper, NO_POD, OURS, pass, server } from "./stage.ts";
import { putSandbox, SANDBOX, unresolvedOf } from "./keeping.ts";

const NOTED = { metadata: { annotations: { "agents.x-k8s.io/pod-name": "pool-x7k2p" } } };
const PATH = "/api/v1/namespaces/team-a/pods/pool-x7k2p";
const TRACKED = { "agents.x-k8s.io/sandbox-name-hash": nameHash("demo") };
const putPod = (metadata: object) => server.put(PATH, aChild("Pod", { metadata: { name: "pool-x7k2p", ...metadata } }));
const notedOf = () => server.get(SANDBOX)?.metadata.annotations?.["agents.x-k8s.io/pod-name"];

beforeEach(begin);
afterEach(end);

test("one that Metacontroller has released is labelled, so that it adopts it", async () => {
  putSandbox(server, NO_POD, NOTED);
  putPod({ labels: TRACKED });
  await keep(1.1);
  expect(asked()).toEqual(["GET pods/pool-x7k2p", "PATCH pods/pool-x7k2p"]);
  expect(server.get(PATH)?.metadata.labels).toMatchObject({ "controller-uid": "uid-demo" });
  expect(notedOf()).toBe("pool-x7k2p");
});

test("one that Metacontroller is about to release is looked at again soon", async () => {
  putSandbox(server, NO_POD, NOTED);
  putPod({ ...OURS, labels: TRACKED });
  await keep(1.1);
  putPod({ ownerReferences: [], labels: TRACKED });
  await pass(4);
  expect(server.get(PATH)?.metadata.labels).toMatchObject({ "controller-uid": "uid-demo" });
});

test("before the Sandbox has said anything it is looked for, too: its hook makes no other one", async () => {
  putSandbox(server, NO_POD, { ...NOTED, status: { conditions: [] } });
  putPod({ labels: TRACKED });
  await keep(1.1);
  expect(keeper.actions).toEqual(["adopted"]);
});

test.for(
  [
    ["gone", undefined],
    ["another's", { ownerReferences: [{ ...OURS.ownerReferences[0], name: "other", uid: "uid-other" }] }],
  ] as const,
)("one that is %s is forgotten, so that the Sandbox gets its own", async ([, metadata]) => {
  putSandbox(server, NO_POD, NOTED);
  if (metadata) putPod(metadata);
  await keep(1.1);
  expect(asked()).toEqual(["GET pods/pool-x7k2p", "PATCH sandboxes/demo"]);
  expect(notedOf()).toBeUndefined();
  expect(unresolvedOf(server)).toBeUndefined();
  await pass(1);
  expect(asked().slice(2)).toEqual(["GET pods/demo", "POST team-a/pods dry"]);
});

test("of a suspended Sandbox, too: it is to wake without delay", async () => {
  const suspended = { ...NOTED, spec: { operatingMode: "Suspended" }, suspended: "True" };
  putSandbox(server, ["False", "SandboxSuspended", "Sandbox is suspended"], suspended);
  await keep(1.1);
  expect(notedOf()).toBeUndefined();
});

test("one that may not be adopted is named, and nothing of it is changed", async () => {
  putSandbox(server, NO_POD, NOTED);
  putPod({ labels: {} });
  await keep(1.1);
  expect(unresolvedOf(server)).toMatchObject({
    problems: [{ kind: "Pod", name: "pool-x7k2p", message: expect.stringContaining("cannot adopt unowned pod") }],
  });
  expect(notedOf()).toBe("pool-x7k2p");
});
