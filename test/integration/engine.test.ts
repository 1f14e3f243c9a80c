/** What hookbox relies on in Metacontroller, composites and decorators: the same for the real and the fake one. @module */
import { afterAll, beforeAll, expect, test } from "vitest";
import { canonicalJson, LAST_APPLIED_ANNOTATION } from "../../packages/api/objects/apply.ts";
import type { Json } from "./engine-server.ts";
import { type EngineWorld, eventually, makeEngineWorld, reference } from "./engine-world.ts";

let world: EngineWorld;
beforeAll(async () => void (world = await makeEngineWorld()));
afterAll(() => world?.stop());

test("a composite makes children, remembers what it applied, and writes the status with observedGeneration", async () => {
  const desired = world.aPart("create-a", { spec: { html: "<a & b>", n: 1.5, deep: { z: 1, a: [null] } } });
  world.hook("/create", () => ({ status: { phase: "Done" }, children: [desired, world.aPart("create-b")] }));
  await world.composite("create", {
    generateSelector: true,
    parentResource: world.parents("create"),
    childResources: [world.parts("InPlace")],
    hooks: { sync: world.at("/create") },
  });
  const parent = await world.thing("create");
  const child = await eventually("a child", () => world.part("create-a"));
  expect(child.metadata.ownerReferences).toStrictEqual([reference(parent)]);
  expect(child.metadata.labels).toStrictEqual({ "controller-uid": parent.metadata.uid });
  const remembered = {
    ...desired,
    metadata: { name: "create-a", namespace: world.namespace, labels: child.metadata.labels },
  };
  expect(child.metadata.annotations).toStrictEqual({ [LAST_APPLIED_ANNOTATION]: canonicalJson(remembered) });
  const done = await eventually("a status", async () => await world.statusOf("create"));
  expect(done).toStrictEqual({ phase: "Done", observedGeneration: 1 });
  expect(await world.part("create-b")).toBeDefined();
});

test("InPlace writes nothing when nothing changes, merges by last-applied when something does", async () => {
  let spec: Json = { keep: 1, list: [{ name: "x", value: "1" }] };
  world.hook("/inplace", () => ({ status: {}, children: [world.aPart("inplace", { spec })] }));
  await world.composite("inplace", {
    generateSelector: true,
    parentResource: world.parents("inplace"),
    childResources: [world.parts("InPlace")],
    hooks: { sync: world.at("/inplace") },
  });
  await world.thing("inplace");
  await eventually("a child", () => world.part("inplace"));
  const theirs = await world.edit(world.api, "parts", "inplace", (object) => ({
    ...object,
    spec: { ...object["spec"] as Json, theirs: 1, list: [{ name: "x", value: "1", theirs: 2 }, { name: "y" }] },
  }));
  await world.quiet("/inplace");
  expect((await world.part("inplace"))?.metadata.resourceVersion).toBe(theirs.metadata.resourceVersion);

  spec = { list: [{ name: "x", value: "2" }] };
  await world.poke("inplace");
  const merged = await eventually("an update", async () => {
    const child = await world.part("inplace");
    return child?.metadata.resourceVersion !== theirs.metadata.resourceVersion && child;
  });
  expect(merged["spec"]).toStrictEqual({ theirs: 1, list: [{ name: "x", value: "2", theirs: 2 }, { name: "y" }] });
});

test("Recreate deletes a child that differs and makes it again; OnDelete leaves it", async () => {
  let n = 1;
  const kept = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "ondelete" } };
  world.hook(
    "/recreate",
    () => ({ status: {}, children: [world.aPart("recreate", { spec: { n } }), { ...kept, data: { n: String(n) } }] }),
  );
  await world.composite("recreate", {
    generateSelector: true,
    parentResource: world.parents("recreate"),
    childResources: [world.parts("Recreate"), { apiVersion: "v1", resource: "configmaps" }],
    hooks: { sync: world.at("/recreate") },
  });
  await world.thing("recreate");
  const first = await eventually("a child", () => world.part("recreate"));
  const config = await eventually("a ConfigMap", () => world.find("v1", "configmaps", "ondelete"));
  n = 2;
  await world.poke("recreate");
  const second = await eventually("another child", async () => {
    const child = await world.part("recreate");
    return child?.metadata.uid !== first.metadata.uid && child;
  });
  expect(second["spec"]).toStrictEqual({ n: 2 });
  await world.quiet("/recreate");
  expect(await world.find("v1", "configmaps", "ondelete")).toStrictEqual(config);
});

test("a child that is left out is deleted", async () => {
  let names = ["omit-a", "omit-b"];
  world.hook("/omit", () => ({ status: {}, children: names.map((name) => world.aPart(name)) }));
  await world.composite("omit", {
    generateSelector: true,
    parentResource: world.parents("omit"),
    childResources: [world.parts()],
    hooks: { sync: world.at("/omit") },
  });
  await world.thing("omit");
  await eventually("children", () => world.part("omit-b"));
  names = ["omit-a"];
  await world.poke("omit");
  await eventually("a deletion", async () => await world.part("omit-b") === undefined);
  expect(await world.part("omit-a")).toBeDefined();
});

test("a foreign object of a child's name is left alone, without an error", async () => {
  const foreign = await world.apply(world.aPart("taken", { spec: { theirs: 1 } }));
  world.hook("/taken", () => ({ status: { ok: true }, children: [world.aPart("taken", { spec: { ours: 1 } })] }));
  await world.composite("taken", {
    generateSelector: true,
    parentResource: world.parents("taken"),
    childResources: [world.parts("InPlace")],
    hooks: { sync: world.at("/taken") },
  });
  const parent = await world.thing("taken");
  await eventually("a status", async () => (await world.statusOf("taken"))?.["ok"]);
  expect(await world.part("taken")).toStrictEqual(foreign);
  expect(await world.syncError(parent)).toBeUndefined();
});

test("a decorator sets and deletes labels and annotations, writes the status, and owns its attachments", async () => {
  world.hook("/decorate", () => ({
    labels: { added: "1", gone: null },
    annotations: { note: "x" },
    status: { seen: true },
    attachments: [world.aPart("attached", { spec: { x: 1 } })],
  }));
  const controller = await world.decorator("decorate", {
    resources: [world.parents("decorate")],
    attachments: [world.parts("InPlace")],
    hooks: { sync: world.at("/decorate") },
  });
  const metadata = { name: "decorate", labels: { test: "decorate", gone: "1" } };
  const parent = await world.apply({ apiVersion: world.api, kind: "Thing", metadata });
  const child = await eventually("an attachment", () => world.part("attached"));
  const decorated = await world.find(world.api, "things", "decorate");
  expect(decorated?.metadata.labels).toStrictEqual({ test: "decorate", added: "1" });
  expect(decorated?.metadata.annotations).toStrictEqual({ note: "x" });
  expect(decorated?.["status"]).toStrictEqual({ seen: true });
  expect(child.metadata.ownerReferences).toStrictEqual([reference(parent)]);
  expect(child.metadata.annotations).toMatchObject({
    "metacontroller.k8s.io/decorator-controller": controller.metadata.name,
  });
  expect(child.metadata.labels).toBeUndefined();
  await world.quiet("/decorate");
  expect((await world.find(world.api, "things", "decorate"))?.metadata.resourceVersion).toBe(
    decorated?.metadata.resourceVersion,
  );
  expect((await world.part("attached"))?.metadata.resourceVersion).toBe(child.metadata.resourceVersion);
});

test("a decorator writes to a kind without a status subresource, and does nothing the second time", async () => {
  world.hook("/plain", () => ({ labels: { decorated: "1" }, status: null, attachments: [] }));
  await world.decorator("plain", {
    resources: [{ apiVersion: "v1", resource: "configmaps", labelSelector: { matchLabels: { test: "plain" } } }],
    hooks: { sync: world.at("/plain") },
  });
  const metadata = { name: "plain", labels: { test: "plain" } };
  await world.apply({ apiVersion: "v1", kind: "ConfigMap", metadata, data: { kept: "1" } });
  const decorated = await eventually("a label", async () => {
    const map = await world.find("v1", "configmaps", "plain");
    return map?.metadata.labels?.["decorated"] === "1" && map;
  });
  expect(decorated["data"]).toStrictEqual({ kept: "1" });
  await world.quiet("/plain");
  expect((await world.find("v1", "configmaps", "plain"))?.metadata.resourceVersion).toBe(
    decorated.metadata.resourceVersion,
  );
});
