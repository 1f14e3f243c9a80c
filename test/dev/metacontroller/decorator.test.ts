/** What a DecoratorController does with its parents and attachments. @module */
import { expect, test } from "vitest";
import { StoreError } from "../../../packages/testing/store/store.ts";
import type { KubeObject } from "../../../packages/api/objects/objects.ts";
import { aDecorator, aPart, API, aThing, poked, startWorld } from "./world.ts";

const BY = "metacontroller.k8s.io/decorator-controller";
const thing = (world: { find: (a: string, k: string, n: string) => KubeObject | undefined }) =>
  world.find(API, "Thing", "t");

test("sets and deletes labels and annotations, keeps the rest, writes status and object", async () => {
  const world = await startWorld({
    "/sync": () => ({
      labels: { a: "1", gone: null, never: null },
      annotations: { n: "x" },
      status: { s: 1 },
      attachments: [],
    }),
  });
  await world.put(aThing("t", { metadata: { labels: { gone: "1", kept: "1" } } }));
  world.writes();
  await world.put(aDecorator());
  expect(thing(world)?.metadata).toMatchObject({ labels: { a: "1", kept: "1" }, annotations: { n: "x" } });
  expect(thing(world)?.metadata.labels).not.toHaveProperty("gone");
  expect(thing(world)?.["status"]).toStrictEqual({ s: 1 });
  expect(world.writes()).toStrictEqual(["updateStatus Thing t", "update Thing t"]);
});

test.for<{ name: string; answer: object; before?: object; after: unknown; writes: string[] }>([
  { name: "absent leaves it", answer: {}, before: { s: 1 }, after: { s: 1 }, writes: [] },
  { name: "null leaves it", answer: { status: null }, before: { s: 1 }, after: { s: 1 }, writes: [] },
  {
    name: "an object replaces it whole",
    answer: { status: { b: 2 } },
    before: { a: 1 },
    after: { b: 2 },
    writes: ["updateStatus Thing t", "update Thing t"],
  },
  { name: "the same writes nothing", answer: { status: { a: 1 } }, before: { a: 1 }, after: { a: 1 }, writes: [] },
  {
    name: "labels alone",
    answer: { labels: { a: "1" } },
    before: { a: 1 },
    after: { a: 1 },
    writes: ["update Thing t"],
  },
])("status: $name", async ({ answer, before, after, writes }) => {
  const world = await startWorld({ "/sync": () => ({ attachments: [], ...answer }) });
  await world.put(aThing("t", { ...(before && { status: before }) }));
  world.writes();
  await world.put(aDecorator());
  expect(thing(world)?.["status"]).toStrictEqual(after);
  expect(world.writes()).toStrictEqual(writes);
});

test("a kind without status subresource is written in one request", async () => {
  const world = await startWorld({ "/sync": () => ({ labels: { a: "1" }, attachments: [] }) });
  await world.put(aDecorator({ resources: [{ apiVersion: API, resource: "plains" }] }), aThing("p", {}, "Plain"));
  expect(world.find(API, "Plain", "p")).toMatchObject({ metadata: { labels: { a: "1" }, generation: 1 } });
  expect(world.writes().filter((write) => write.includes("Plain"))).toStrictEqual(["update Plain p"]);
});

test("attachments carry the controller's name and the parent's reference, and no label", async () => {
  const world = await startWorld({
    "/sync": () => ({ attachments: [aPart("a", { metadata: { annotations: { [BY]: "forged", own: "1" } } })] }),
  });
  await world.put(aDecorator(), aThing("t"));
  const { metadata } = world.find(API, "Part", "a") ?? {};
  expect(metadata?.annotations).toMatchObject({ [BY]: "deco", own: "1" });
  expect(metadata?.ownerReferences?.map(({ uid, controller }) => ({ uid, controller }))).toStrictEqual([{
    uid: thing(world)?.metadata.uid,
    controller: true,
  }]);
  expect(metadata?.labels).toBeUndefined();
});

test("sees only what the parent controls and itself has made; adopts nothing", async () => {
  const world = await startWorld({
    "/sync": ({ children }) => ({
      attachments: Object.keys(children[`Part.${API}`] ?? {}).map((key) => aPart(key.slice(3))),
    }),
  });
  await world.put(aThing("t"));
  const us = { apiVersion: API, kind: "Thing", name: "t", uid: thing(world)?.metadata.uid ?? "", controller: true };
  const child = (name: string, metadata: object) => aThing(name, { metadata }, "Part");
  await world.put(
    child("ours", { annotations: { [BY]: "deco" }, ownerReferences: [us] }),
    child("unsigned", { ownerReferences: [us] }),
    child("other-decorator", { annotations: { [BY]: "else" }, ownerReferences: [us] }),
    child("orphan", { annotations: { [BY]: "deco" } }),
    aDecorator(),
  );
  expect(Object.keys(world.calls.at(-1)?.body.children[`Part.${API}`] ?? {})).toStrictEqual(["ns/ours"]);
  expect(world.names(API, "Part")).toStrictEqual(["orphan", "other-decorator", "ours", "unsigned"]);
});

test("writes the parent first; when that loses, attachments are left for the next sync", async () => {
  let raced = false;
  const world = await startWorld({
    "/sync": async (_, call) => {
      if (call === 1) {
        raced = true;
        await world.store.put({ ...thing(world) ?? aThing("t"), spec: { theirs: 1 } });
      }
      return { labels: { call: String(Math.min(call, 2)) }, attachments: [aPart("a")] };
    },
  });
  await world.put(aThing("t"), aDecorator());
  expect(raced).toBe(true);
  expect(world.writes().filter((write) => !write.includes("Controller"))).toStrictEqual([
    "update Thing t", // lost
    "update Thing t",
    "create Part a",
  ]);
  expect(thing(world)).toMatchObject({ metadata: { labels: { call: "2" } }, spec: { theirs: 1 } });
  expect(world.failures).toStrictEqual([]);
});

test("any other failure with the parent is an error", async () => {
  const world = await startWorld({ "/sync": () => ({ labels: { a: "1" }, attachments: [aPart("a")] }) }, {
    fault: ({ verb, name }) =>
      verb === "update" && name === "t" ? { error: new StoreError(403, "Forbidden", "not yours") } : undefined,
  });
  await world.put(aThing("t"), aDecorator());
  expect(world.failures[0]).toMatch(/not yours/);
  expect(world.names(API, "Part")).toStrictEqual([]);
});

test("several kinds of parents, each with its selectors; both selectors have to match", async () => {
  const world = await startWorld({ "/sync": () => ({ attachments: [] }) });
  await world.put(
    aDecorator({
      resources: [
        {
          apiVersion: API,
          resource: "things",
          labelSelector: { matchLabels: { l: "1" } },
          annotationSelector: { matchAnnotations: { a: "1" } },
        },
        {
          apiVersion: "v1",
          resource: "pods",
          annotationSelector: { matchExpressions: [{ key: "a", operator: "In", values: ["1", "2"] }] },
        },
      ],
    }),
    aThing("both", { metadata: { labels: { l: "1" }, annotations: { a: "1" } } }),
    aThing("label", { metadata: { labels: { l: "1" } } }),
    aThing("annotation", { metadata: { annotations: { a: "1" } } }),
    { apiVersion: "v1", kind: "Pod", metadata: { name: "pod", namespace: "ns", annotations: { a: "2" } } },
  );
  expect(world.calls.map(({ body }) => body.parent.metadata.name)).toStrictEqual(["both", "pod"]);
});

test("ignoreStatusChanges lets generation, labels, annotations and deletion through", async () => {
  const world = await startWorld({ "/sync": () => ({ attachments: [] }) });
  await world.put(
    aDecorator({ resources: [{ apiVersion: API, resource: "things", ignoreStatusChanges: true }] }),
    aThing("t"),
  );
  const calls = async (change: (object: KubeObject) => KubeObject) => {
    const before = world.count("/sync");
    await world.edit(API, "Thing", "t", change);
    return world.count("/sync") - before;
  };
  const meta = (changes: object) => (object: KubeObject) => ({
    ...object,
    metadata: { ...object.metadata, ...changes },
  });
  expect(await calls((object) => ({ ...object, status: { n: 1 } }))).toBe(0);
  expect(await calls(meta({ finalizers: ["test/hold"] }))).toBe(0);
  expect(await calls(meta({ labels: { a: "1" } }))).toBe(1);
  expect(await calls(meta({ annotations: { a: "1" } }))).toBe(1);
  expect(await calls(poked)).toBe(1);
  await world.drop(API, "Thing", "t");
  expect(world.count("/sync")).toBe(5);
});

test("ignoreStatusChanges lets a deletion through where there is no generation to tell", async () => {
  const world = await startWorld({ "/sync": () => ({ attachments: [] }) });
  const resources = [{ apiVersion: "v1", resource: "configmaps", ignoreStatusChanges: true }];
  const metadata = { name: "m", namespace: "ns", finalizers: ["test/hold"] };
  await world.put(aDecorator({ resources }), { apiVersion: "v1", kind: "ConfigMap", metadata });
  await world.drop("v1", "ConfigMap", "m");
  expect(world.calls.map(({ body }) => Boolean(body.parent.metadata.deletionTimestamp))).toStrictEqual([false, true]);
});

test("rolling methods act at once", async () => {
  const attachments = [{ apiVersion: API, resource: "parts", updateStrategy: { method: "RollingInPlace" } }];
  const world = await startWorld({
    "/sync": ({ parent }) => ({ attachments: [aPart("a", { spec: { n: parent.metadata.generation } })] }),
  });
  await world.put(aDecorator({ attachments }), aThing("t"));
  await world.edit(API, "Thing", "t", poked);
  expect(world.find(API, "Part", "a")).toMatchObject({ spec: { n: 2 } });
});
