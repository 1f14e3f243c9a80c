/** Which suspended Sandboxes expire: those that a router suspended and that nobody has changed since. @module */
import { describe, expect, test } from "vitest";
import { createIdler } from "../../../packages/router/idle/idler.ts";
import { readSandbox } from "../../../packages/router/index/records.ts";
import { createSandboxIndex } from "../../../packages/router/index/sandboxindex.ts";
import { setMode } from "../../../packages/sdk/control/change.ts";
import { createFakeApi } from "../../kube/fakeapi.ts";
import { putSandbox, SANDBOXES } from "../stage.ts";

const key = (name: string) => `router.agents.x-k8s.io/${name}`;
const TARGET = { kind: "Sandbox", resource: "sandboxes", namespace: "team-a", name: "demo" } as const;
const LONG_AGO = "2020-01-01T00:00:00Z";
const POLICY = { [key("idle-seconds")]: "60", [key("idle-delete-seconds")]: "86400" };

/** What a router says of the suspension that made generation 2. */
const word = (over: object = {}) =>
  JSON.stringify({ reason: "Idle", at: LONG_AGO, note: "x", uid: "uid-demo", generation: 2, ...over });
const suspended = (over: object = {}) => ({
  conditions: [{
    ...{ type: "Suspended", status: "True", reason: "PodTerminated", message: "" },
    ...{ observedGeneration: 2, lastTransitionTime: LONG_AGO, ...over },
  }],
});

interface World {
  annotations?: Record<string, string>;
  status?: object;
  spec?: object;
  template?: object;
}

/** A Sandbox that a router suspended long ago, and a router that looks when told. */
function start({ annotations = {}, status = suspended(), spec = {}, template = {} }: World = {}) {
  const api = createFakeApi();
  const metadata = { generation: 2, annotations: { ...POLICY, [key("suspended")]: word(), ...annotations } };
  const podTemplate = { metadata: { annotations: template }, spec: { containers: [] } };
  putSandbox(api, "demo", { metadata, status, spec: { operatingMode: "Suspended", podTemplate, ...spec } });
  const index = createSandboxIndex();
  const parts = {
    api,
    index,
    identity: "a",
    idle: true,
    log: () => {},
    idleCheckInterval: 1,
    runtimePort: 1,
    onSuspended: () => {},
  };
  const idler = createIdler(parts);
  return {
    api,
    read: () => api.get(`${SANDBOXES}/demo`) as unknown as Stored,
    /** As the Sandbox's hook would, once it has seen the spec. */
    report(over: object) {
      const { metadata: { generation }, spec } = api.get(`${SANDBOXES}/demo`) as unknown as Stored;
      const sandbox = api.get(`${SANDBOXES}/demo`)!;
      const status = suspended({ observedGeneration: generation, ...over });
      api.put(`${SANDBOXES}/demo`, { ...sandbox, spec, status });
    },
    async look() {
      index.sandboxes.observe(readSandbox(api.get(`${SANDBOXES}/demo`))!);
      await idler.checkAll();
    },
  };
}

interface Stored {
  metadata: { generation: number; annotations: Record<string, string> };
  spec: { operatingMode: string; shutdownTime?: string; shutdownPolicy?: string };
}

test("what a router suspended long ago expires", async () => {
  const { look, read } = start();
  await look();
  expect(read().spec).toMatchObject({ shutdownPolicy: "Delete", shutdownTime: expect.any(String) });
});

test("what a restore of etcd has suspended again stays, until somebody changes it", async () => {
  const { api, look, read, report } = start();
  const backup = api.get(`${SANDBOXES}/demo`)!;
  await setMode(api, TARGET, "Running");
  await look();
  api.put(`${SANDBOXES}/demo`, { ...backup, metadata: { ...backup.metadata as object, generation: 2 } });
  await look();
  expect(read().spec, "somebody has used it since the backup").not.toHaveProperty("shutdownTime");
  await look();
  expect(read().spec).not.toHaveProperty("shutdownTime");
  // As the router does after its user has gone again.
  for (const mode of ["Running", "Suspended"] as const) await setMode(api, TARGET, mode);
  const { metadata: { generation } } = read();
  const annotations = { ...POLICY, [key("suspended")]: word({ generation }) };
  const stored = api.get(`${SANDBOXES}/demo`)!;
  api.put(`${SANDBOXES}/demo`, { ...stored, metadata: { ...stored.metadata as object, annotations } });
  report({});
  await look();
  expect(read().spec).toHaveProperty("shutdownTime");
});

const recently = new Date(Date.now() - 60_000).toISOString();

test.for<[string, World]>([
  ["nobody asks for it", { annotations: { [key("idle-delete-seconds")]: "" } }],
  ["no router says that it suspended it", { annotations: { [key("suspended")]: "" } }],
  ["what a router says cannot be read", { annotations: { [key("suspended")]: "{" } }],
  ["a router says so of another object, from which this one was copied", {
    annotations: { [key("suspended")]: word({ uid: "another" }) },
  }],
  ["a router says so in a template", {
    annotations: { [key("suspended")]: "" },
    template: { [key("suspended")]: word() },
  }],
  ["a router says so of an earlier suspension", { annotations: { [key("suspended")]: word({ generation: 1 }) } }],
  ["an older router named neither", {
    annotations: { [key("suspended")]: JSON.stringify({ reason: "Idle", at: LONG_AGO, note: "" }) },
  }],
  ["nothing says that its Pod is gone", { status: {} }],
  ["its Pod is not gone yet", { status: suspended({ status: "False" }) }],
  ["its status is about an earlier spec", { status: suspended({ observedGeneration: 1 }) }],
  ["its Pod has not been gone for long", { status: suspended({ lastTransitionTime: recently }) }],
  ["a router suspended it a moment ago", { annotations: { [key("suspended")]: word({ at: recently }) } }],
])("it stays where %s", async ([, world]) => {
  const { look, read } = start(world);
  await look();
  expect(read().spec).not.toHaveProperty("shutdownTime");
});

test("one that its user resumed without a router, and suspended again by hand, stays", async () => {
  const { api, look, read, report } = start();
  await setMode(api, TARGET, "Running");
  report({ status: "False" });
  await look();
  await setMode(api, TARGET, "Suspended");
  expect(read().metadata.annotations, "what the router said is still there").toHaveProperty(key("suspended"));
  await look();
  report({ lastTransitionTime: LONG_AGO });
  await look();
  expect(read().spec).not.toHaveProperty("shutdownTime");
});

describe("an expiry that a router has set", () => {
  test("is called off if somebody resumes the Sandbox, and what was there before is restored", async () => {
    const end = "2100-01-01T00:00:00Z";
    const { api, look, read } = start({ spec: { shutdownTime: end, shutdownPolicy: "Retain" } });
    await look();
    expect(read().spec).toMatchObject({ shutdownPolicy: "Delete" });
    await setMode(api, TARGET, "Running");
    await look();
    expect(read().spec).toMatchObject({ operatingMode: "Running", shutdownTime: end, shutdownPolicy: "Retain" });
    expect(read().metadata.annotations).not.toHaveProperty(key("idle-expired"));
  });

  test("is called off by any other change of the spec, too, and does not come back", async () => {
    const { api, look, read } = start();
    await look();
    await setMode(api, TARGET, "Running");
    await setMode(api, TARGET, "Suspended");
    await look();
    await look();
    expect(read().spec).not.toHaveProperty("shutdownTime");
  });

  test("is not that of a copy, nor of what a backup restores: the copy gets its earlier end and stays", async () => {
    const original = start();
    await original.look();
    const { metadata: { annotations }, spec } = original.read();
    expect(spec).toHaveProperty("shutdownTime");
    const { api, look, read } = start();
    const stored = api.get(`${SANDBOXES}/demo`)!;
    const metadata = { ...stored.metadata as object, uid: "uid-copy", generation: 1, annotations };
    api.put(`${SANDBOXES}/demo`, { ...stored, metadata, spec });
    await look();
    expect(read().spec).toMatchObject({ operatingMode: "Suspended" });
    expect(read().spec).not.toHaveProperty("shutdownTime");
    expect(read().metadata.annotations).not.toHaveProperty(key("idle-expired"));
    await look();
    expect(read().spec, "no router has suspended the copy").not.toHaveProperty("shutdownTime");
  });

  test("leaves an end that a user has set since", async () => {
    const { api, look, read } = start();
    await look();
    const own = "2100-01-01T00:00:00Z";
    await api.send({ method: "PATCH", path: `${SANDBOXES}/demo`, body: { spec: { shutdownTime: own } } });
    await look();
    expect(read().spec).toMatchObject({ shutdownTime: own });
  });
});
