/** Controllers that start, restart and stop; workers. @module */
import { Hono } from "hono";
import { expect, test } from "vitest";
import { startFakeMetacontroller } from "../../../packages/testing/metacontroller/metacontroller.ts";
import { createMemoryStore } from "../../../packages/testing/store/memory.ts";
import type { KubeObject } from "../../../packages/api/objects/objects.ts";
import { aComposite, aCrd, aDecorator, aHook, aPart, API, aThing, poked, reasons, startWorld } from "./world.ts";

const MC = "metacontroller.k8s.io/v1alpha1";
const respec = (spec: object) => (object: KubeObject) => ({
  ...object,
  spec: { ...object["spec"] as object, ...spec },
});

test("runs what is there at first and what comes later", async () => {
  const world = await startWorld({ "/sync": () => ({ children: [], attachments: undefined }) }, {}, [
    aComposite({ hooks: { sync: aHook("/sync", "v1") } }),
    aThing("t"),
  ]);
  expect(world.count("/sync")).toBeGreaterThan(0);
  expect(reasons(world, "CompositeController")).toStrictEqual(["Started"]);
});

test("an application answers without a port", async () => {
  const store = createMemoryStore();
  for (const object of [aCrd("Thing"), aCrd("Part"), aComposite(), aThing("t")]) await store.put(object);
  const app = new Hono().post("/sync", (c) => c.json({ status: { by: "hono" }, children: [] }));
  const engine = startFakeMetacontroller({ store, fetch: app.request });
  await engine.idle();
  expect(store.objects(API, "Thing")[0]?.["status"]).toMatchObject({ by: "hono" });
  await engine.stop();
});

test("hooks are sent the controller as Metacontroller writes it: with the empty structs of its types", async () => {
  const world = await startWorld({ "/sync": () => ({ children: [] }) });
  await world.put(aComposite(), aDecorator(), aThing("t"));
  const sent = world.calls.map(({ body }) => body["controller"] as KubeObject);
  const rule = { apiVersion: API, resource: "parts" };
  const composite = { childResources: [{ ...rule, updateStrategy: { method: "InPlace", statusChecks: {} } }] };
  const decorator = { attachments: [{ ...rule, updateStrategy: { method: "InPlace" } }] };
  expect(sent.find(({ kind }) => kind === "CompositeController")).toMatchObject({ spec: composite, status: {} });
  expect(sent.find(({ kind }) => kind === "DecoratorController")?.["spec"]).toMatchObject(decorator);
  expect(sent.every(({ status }) => JSON.stringify(status) === "{}")).toBe(true);
});

test("a changed spec restarts the controller and syncs every parent; other changes do not", async () => {
  const world = await startWorld({ "/sync": () => ({ children: [] }), "/other": () => ({ children: [] }) });
  const parentResource = { apiVersion: API, resource: "things", ignoreStatusChanges: true };
  await world.put(aComposite({ parentResource }), aThing("t"), aThing("u"));
  expect(world.count("/sync")).toBe(2);
  await world.edit(
    MC,
    "CompositeController",
    "things",
    (object) => ({ ...object, metadata: { ...object.metadata, labels: { a: "1" } } }),
  );
  expect(world.count("/sync")).toBe(2);
  await world.edit(MC, "CompositeController", "things", respec({ hooks: { sync: aHook("/other") } }));
  expect([world.count("/sync"), world.count("/other")]).toStrictEqual([2, 2]);
  expect(reasons(world, "CompositeController")).toStrictEqual(["Started", "Stopped", "Started"]);
});

test("a deleted controller stops, and its finalizer stays", async () => {
  const world = await startWorld({ "/sync": () => ({ children: [] }) });
  await world.put(aComposite({ hooks: { sync: aHook("/sync"), finalize: aHook("/finalize") } }), aThing("t"));
  await world.drop(MC, "CompositeController", "things");
  const calls = world.calls.length;
  await world.edit(API, "Thing", "t", poked);
  expect(world.calls.length).toBe(calls);
  expect(world.find(API, "Thing", "t")?.metadata["finalizers"]).toHaveLength(1);
});

test.for([
  { name: "no hooks", controller: aComposite({ hooks: undefined }), message: /spec.hooks is missing/ },
  {
    name: "rolling updates",
    controller: aComposite({
      childResources: [{ apiVersion: API, resource: "parts", updateStrategy: { method: "RollingInPlace" } }],
    }),
    message: /has no update strategy RollingInPlace/,
  },
  {
    name: "endpointConfigs",
    controller: aDecorator({ endpointConfigs: [{ host: "h" }] }),
    message: /has no endpointConfigs/,
  },
  {
    name: "an unknown child",
    controller: aComposite({ childResources: [{ apiVersion: API, resource: "parcels" }] }),
    message: /parcels/,
  },
  {
    name: "an unknown parent",
    controller: aDecorator({ resources: [{ apiVersion: "v9", resource: "things" }] }),
    message: /things.v9/,
  },
])("does not start with $name: CreateError", async ({ controller, message }) => {
  const world = await startWorld({});
  await world.put(controller, aThing("t"));
  const event = world.store.objects("v1", "Event").find((event) => event["reason"] === "CreateError");
  expect(event).toMatchObject({
    type: "Warning",
    involvedObject: { kind: controller.kind, name: controller.metadata.name },
  });
  expect(event?.["message"]).toMatch(message);
  expect(world.calls).toStrictEqual([]);
});

test("a composite wants a custom resource with a status subresource as its parent", async () => {
  const world = await startWorld({});
  await world.put(aComposite({ parentResource: { apiVersion: API, resource: "plains" } }), aThing("p", {}, "Plain"));
  await world.put(aComposite({ parentResource: { apiVersion: "v1", resource: "pods" } }, "pods"), {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p", namespace: "ns" },
  });
  expect(world.calls).toStrictEqual([]);
  expect(reasons(world, "CompositeController")).toStrictEqual(["SyncError"]);
  expect(world.failures.join()).toMatch(/pods\./);
});

test("a controller whose kinds come later starts by itself", async () => {
  const world = await startWorld({ "/sync": () => ({ attachments: [] }) });
  await world.put(aDecorator({ resources: [{ apiVersion: API, resource: "lates" }] }));
  await world.put(aCrd("Late"), aThing("l", {}, "Late"));
  await world.store.clock.advance(60_000);
  expect(world.count("/sync")).toBe(1);
});

test("one parent is never synced twice at a time; several are, as many as there are workers", async () => {
  let running = 0;
  let most = 0;
  let holding = true;
  const held: (() => void)[] = [];
  const store = createMemoryStore();
  for (
    const object of [
      aCrd("Thing"),
      aCrd("Part"),
      aComposite(),
      ...["a", "b", "c", "d"].map((name) => aThing(name)),
    ]
  ) await store.put(object);
  const byName: Record<string, number> = {};
  const engine = startFakeMetacontroller({
    store,
    workers: 3,
    fetch: async (_, init) => {
      const { name } = JSON.parse(String(init.body)).parent.metadata;
      byName[name] = (byName[name] ?? 0) + 1;
      expect(byName[name]).toBe(1);
      most = Math.max(most, ++running);
      if (holding) await new Promise<void>((resolve) => held.push(resolve));
      running--;
      byName[name]--;
      return Response.json({ status: {}, children: [] });
    },
  });
  for (let i = 0; i < 20; i++) {
    await store.clock.advance(1);
    await store.put(poked(aThing("a")));
    held.shift()?.();
  }
  expect(most).toBe(3);
  holding = false;
  held.forEach((release) => release());
  await engine.idle();
  await engine.stop();
});

test("stop ends calls that hang and writes nothing more", async () => {
  const store = createMemoryStore();
  for (const object of [aCrd("Thing"), aCrd("Part"), aComposite(), aThing("t")]) await store.put(object);
  let called = 0;
  const engine = startFakeMetacontroller({
    store,
    fetch: () => {
      called++;
      return new Promise<Response>(() => {});
    },
  });
  await store.clock.advance(1);
  await engine.stop();
  await store.put(poked(aThing("t")));
  await store.clock.advance(60_000);
  expect(called).toBe(1);
  expect(store.objects("v1", "Event").filter((event) => event["reason"] === "SyncError")).toStrictEqual([]);
});

test("a cluster-scoped parent has children in namespaces that the hook names", async () => {
  const world = await startWorld({
    "/sync": () => ({
      status: {},
      children: [aPart("a", { metadata: { namespace: "n1" } }), aPart("a", { metadata: { namespace: "n2" } })],
    }),
  });
  const parentResource = { apiVersion: API, resource: "wides" };
  const hooks = { sync: aHook("/sync", "v1") };
  await world.put(aComposite({ parentResource, hooks }), { apiVersion: API, kind: "Wide", metadata: { name: "w" } });
  expect(Object.keys(world.calls.at(-1)?.body.children[`Part.${API}`] ?? {})).toStrictEqual(["n1/a", "n2/a"]);
  expect(world.failures).toStrictEqual([]);
});
