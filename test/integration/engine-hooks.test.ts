/** What hookbox relies on in Metacontroller, hooks: the same for the real and the fake one, on a real API server. @module */
import { afterAll, beforeAll, expect, test } from "vitest";
import { canonicalJson } from "../../packages/api/objects/apply.ts";
import type { Json } from "./engine-server.ts";
import { type EngineWorld, eventually, makeEngineWorld } from "./engine-world.ts";

let world: EngineWorld;
beforeAll(async () => void (world = await makeEngineWorld()));
afterAll(() => world?.stop());

test("customize: related objects are shown and wake the parent; keys are those of v2", async () => {
  world.hook("/customize", () => ({
    relatedResources: [
      { apiVersion: "v1", resource: "configmaps", namespace: world.namespace, names: ["related"] },
      {
        apiVersion: world.api,
        resource: "parts",
        namespace: world.namespace,
        labelSelector: {
          matchExpressions: [{ key: "bound", operator: "DoesNotExist" }, { key: "rel", operator: "Exists" }],
        },
      },
    ],
  }));
  world.hook(
    "/related",
    ({ related }) => ({
      status: {
        related: Object.fromEntries(Object.entries(related).map(([kind, objects]) => [kind, Object.keys(objects)])),
      },
      children: [],
    }),
  );
  await world.composite("customize", {
    generateSelector: true,
    parentResource: world.parents("customize"),
    hooks: { sync: world.at("/related"), customize: world.at("/customize", "v1") },
  });
  await world.thing("customize");
  const shows = (configMaps: string[], related: string[]) =>
    eventually(`related ${configMaps} ${related}`, async () => {
      const status = await world.statusOf("customize") as { related?: Record<string, string[]> } | undefined;
      const wanted = { "ConfigMap.v1": configMaps, [`Part.${world.api}`]: related };
      return canonicalJson(status?.related) === canonicalJson(wanted);
    });
  await shows([], []);
  await world.apply({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "related" } });
  await shows([`${world.namespace}/related`], []);
  await world.apply(world.aPart("related", {}, { labels: { rel: "1" } }));
  await shows([`${world.namespace}/related`], [`${world.namespace}/related`]);
  await world.edit(
    world.api,
    "parts",
    "related",
    (object) => ({ ...object, metadata: { ...object.metadata, labels: { rel: "1", bound: "1" } } }),
  );
  await shows([`${world.namespace}/related`], []);
  // a related event asks about every cached parent, of other tests too
  expect(world.calls("/customize").filter(({ parent }) => parent.metadata.name === "customize")).toHaveLength(1);
});

test("finalize holds a parent until the hook says finalized, with its children still managed", async () => {
  world.hook("/finalize-sync", () => ({ status: {}, children: [world.aPart("finalize")] }));
  world.hook("/finalize", (call) => ({ status: {}, children: [], finalized: world.shown(call).length === 0 }));
  const controller = await world.composite("finalize", {
    generateSelector: true,
    parentResource: world.parents("finalize"),
    childResources: [world.parts()],
    hooks: { sync: world.at("/finalize-sync"), finalize: world.at("/finalize") },
  });
  await world.thing("finalize");
  await eventually("a child", () => world.part("finalize"));
  expect((await world.find(world.api, "things", "finalize"))?.metadata["finalizers"]).toStrictEqual([
    `metacontroller.io/compositecontroller-${controller.metadata.name}`,
  ]);
  await world.drop(world.api, "things", "finalize");
  await eventually("the parent's end", async () => await world.find(world.api, "things", "finalize") === undefined);
  expect(await world.part("finalize")).toBeUndefined();
  const finalizing = world.calls("/finalize");
  expect(finalizing.every((call) => call.finalizing && call.parent.metadata.deletionTimestamp)).toBe(true);
  expect(world.shown(finalizing[0])).toHaveLength(1);
});

test("a decorator finalizes too", async () => {
  world.hook("/definal-sync", () => ({ attachments: [] }));
  world.hook("/definal", (_, count) => ({ attachments: [], finalized: count > 1, resyncAfterSeconds: 0.1 }));
  await world.decorator("definal", {
    resources: [world.parents("definal")],
    hooks: { sync: world.at("/definal-sync"), finalize: world.at("/definal") },
  });
  await world.thing("definal");
  await eventually(
    "a finalizer",
    async () =>
      ((await world.find(world.api, "things", "definal"))?.metadata["finalizers"] as string[] | undefined)?.length ===
        1,
  );
  await world.drop(world.api, "things", "definal");
  await eventually("the parent's end", async () => await world.find(world.api, "things", "definal") === undefined);
  expect(world.calls("/definal").length).toBeGreaterThan(1);
});

test("429 puts off by Retry-After, without an event", async () => {
  world.hook(
    "/later",
    (_, count) =>
      count === 1 ? { status: 429, headers: { "Retry-After": "1" }, body: "" } : { status: { ok: true }, children: [] },
  );
  await world.composite("later", {
    generateSelector: true,
    parentResource: world.parents("later"),
    hooks: { sync: world.at("/later") },
  });
  const begin = Date.now();
  const parent = await world.thing("later");
  await eventually(
    "a second call",
    async () => (await world.statusOf("later"))?.["ok"],
  );
  expect(Date.now() - begin).toBeGreaterThanOrEqual(900);
  expect(await world.syncError(parent)).toBeUndefined();
});

test("resyncAfterSeconds calls again", async () => {
  world.hook("/resync", (_, count) => ({ status: {}, children: [], ...(count < 5 && { resyncAfterSeconds: 0.05 }) }));
  await world.composite("resync", {
    generateSelector: true,
    parentResource: world.parents("resync", { ignoreStatusChanges: true }),
    hooks: { sync: world.at("/resync") },
  });
  await world.thing("resync");
  await eventually("five calls", () => world.calls("/resync").length >= 5);
  await world.quiet("/resync");
  expect(world.calls("/resync")).toHaveLength(5);
});

test.for([
  { name: "status", answer: { status: 500, body: "broken on purpose" }, message: /500.*broken on purpose/ },
  { name: "strict", answer: { status: {}, children: [], unknownField: 1 }, message: /unknownField/ },
  {
    name: "labels",
    answer: {
      status: {},
      children: [{ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "bad", labels: { "controller-uid": "x" } } }],
    },
    message: /labels/,
  },
])("SyncError event, nothing written, and another try: $name", async ({ name, answer, message }) => {
  const label = `error-${name}`;
  world.hook(`/${label}`, (_, count) => count <= 2 ? answer as Json : { status: { ok: true }, children: [] });
  await world.composite(label, {
    generateSelector: true,
    parentResource: world.parents(label),
    childResources: [world.parts(), { apiVersion: "v1", resource: "configmaps" }],
    hooks: { sync: world.at(`/${label}`) },
  });
  const parent = await world.thing(label);
  const event = await eventually("an event", () => world.syncError(parent));
  expect(event).toMatchObject({ type: "Warning", reason: "SyncError", involvedObject: { kind: "Thing", name: label } });
  expect(event["message"]).toMatch(message);
  await eventually("recovery", async () => (await world.statusOf(label))?.["ok"]);
  expect(await world.find("v1", "configmaps", "bad")).toBeUndefined();
});

test("a changed controller spec syncs every parent again; a deleted controller stops", async () => {
  world.hook("/before", () => ({ status: { by: "before" }, children: [] }));
  world.hook("/after", () => ({ status: { by: "after" }, children: [] }));
  const spec = (path: string) => ({
    generateSelector: true,
    parentResource: world.parents("restart"),
    hooks: { sync: world.at(path) },
  });
  const controller = await world.composite("restart", spec("/before"));
  const by = async () => (await world.statusOf("restart"))?.["by"];
  await world.thing("restart");
  await eventually("the first hook", async () => await by() === "before");
  await world.edit(
    "metacontroller.k8s.io/v1alpha1",
    "compositecontrollers",
    controller.metadata.name,
    (object) => ({ ...object, spec: spec("/after") }),
  );
  await eventually("the second hook", async () => await by() === "after");
  const calls = world.calls("/before").length;
  await world.poke("restart");
  await world.quiet("/after");
  expect(world.calls("/before")).toHaveLength(calls);
});

test("v1 keys are names, ignoreStatusChanges drops the controller's own status writes", async () => {
  world.hook(
    "/v1",
    (call) => ({
      status: { keys: Object.keys(call.children[`Part.${world.api}`] ?? {}) },
      children: [world.aPart("v1-child")],
    }),
  );
  await world.composite("v1", {
    generateSelector: true,
    parentResource: world.parents("v1", { ignoreStatusChanges: true }),
    childResources: [world.parts()],
    hooks: { sync: world.at("/v1", "v1") },
  });
  await world.thing("v1");
  await eventually(
    "keys",
    async () => canonicalJson((await world.statusOf("v1"))?.["keys"]) === '["v1-child"]',
  );
  await world.quiet("/v1");
  expect(world.calls("/v1")).toHaveLength(2);
});
