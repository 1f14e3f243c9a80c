/** What a CompositeController does with its children. @module */
import { expect, test } from "vitest";
import { StoreError } from "../../../packages/testing/store/store.ts";
import { canonicalJson, LAST_APPLIED_ANNOTATION } from "../../../packages/api/objects/apply.ts";
import { events, poke, status } from "./composites.ts";
import { aComposite, aHook, aPart, API, aThing, poked, startWorld } from "./world.ts";

test("makes children with controller, generated label and last-applied, then the status", async () => {
  const world = await startWorld({ "/sync": () => ({ status: { n: 1 }, children: [aPart("a", { spec: { x: 1 } })] }) });
  await world.put(aComposite(), aThing("t"));
  const { uid } = world.find(API, "Thing", "t")?.metadata ?? {};
  expect(status(world)).toStrictEqual({ n: 1, observedGeneration: 1 });
  const { metadata, ...part } = world.find(API, "Part", "a") ?? {};
  expect(part).toMatchObject({ spec: { x: 1 } });
  expect(metadata?.labels).toStrictEqual({ "controller-uid": uid });
  expect(metadata?.ownerReferences).toStrictEqual([
    { apiVersion: API, kind: "Thing", name: "t", uid, controller: true, blockOwnerDeletion: true },
  ]);
  const applied = aPart("a", { metadata: { namespace: "ns", labels: { "controller-uid": uid } }, spec: { x: 1 } });
  expect(metadata?.annotations?.[LAST_APPLIED_ANNOTATION]).toBe(canonicalJson(applied));
  expect(world.failures).toStrictEqual([]);
});

test("writes nothing when nothing changes", async () => {
  const world = await startWorld({ "/sync": () => ({ status: { n: 1 }, children: [aPart("a", { spec: { x: 1 } })] }) });
  await world.put(aComposite(), aThing("t"));
  world.writes();
  await world.edit(API, "Part", "a", (part) => ({ ...part, spec: { x: 1, theirs: 2 } }));
  expect(world.writes()).toStrictEqual([]);
  expect(world.find(API, "Part", "a")?.["spec"]).toStrictEqual({ x: 1, theirs: 2 });
});

test.for([
  { method: undefined, writes: [], n: 1 },
  { method: "OnDelete", writes: [], n: 1 },
  { method: "InPlace", writes: ["update Part a"], n: 2 },
  { method: "Recreate", writes: ["delete Part a", "create Part a"], n: 2 },
])("update strategy $method", async ({ method, writes, n }) => {
  const world = await startWorld({
    "/sync": ({ parent }) => ({ status: {}, children: [aPart("a", { spec: { n: parent.metadata.generation } })] }),
  });
  const rule = { apiVersion: API, resource: "parts", ...(method && { updateStrategy: { method } }) };
  await world.put(aComposite({ childResources: [rule] }), aThing("t"));
  world.writes();
  await poke(world);
  expect(world.writes().filter((write) => write.includes("Part"))).toStrictEqual(writes);
  expect(world.find(API, "Part", "a")?.["spec"]).toStrictEqual({ n });
});

test("deletes first, then kinds in order of group, version, kind", async () => {
  const kinds = ["configmaps", "secrets", "pods"].map((resource) => ({ apiVersion: "v1", resource }));
  const child = (kind: string, name: string) => ({ apiVersion: "v1", kind, metadata: { name } });
  const world = await startWorld({
    "/sync": ({ parent }) =>
      parent.metadata.generation === 1
        ? { status: {}, children: [child("Secret", "old"), child("ConfigMap", "old")] }
        : {
          status: {},
          children: [aPart("new"), child("Secret", "new"), child("Pod", "new"), child("ConfigMap", "new")],
        },
  });
  await world.put(aComposite({ childResources: [{ apiVersion: API, resource: "parts" }, ...kinds] }), aThing("t"));
  world.writes();
  await poke(world);
  expect(world.writes()).toStrictEqual([
    "delete ConfigMap old",
    "delete Secret old",
    "create ConfigMap new",
    "create Pod new",
    "create Secret new",
    "create Part new",
    "updateStatus Thing t",
  ]);
});

test.for([{ children: [] }, { children: null }, {}, null])("children %j: all are deleted", async (answer) => {
  const world = await startWorld({
    "/sync": (_, call) => call === 1 ? { children: [aPart("a"), aPart("b")] } : answer,
  });
  await world.put(aComposite(), aThing("t"));
  expect(world.names(API, "Part")).toStrictEqual([]);
  expect(status(world)).toStrictEqual({ observedGeneration: 1 });
});

test("a delete names the uid alone, so it also deletes what changed a moment ago", async () => {
  const world = await startWorld({
    "/sync": async (_, call) => {
      if (call < 2) return { children: [aPart("a")] };
      if (call === 2) await world.store.put({ ...world.find(API, "Part", "a") ?? aThing("a"), spec: { just: "now" } });
      return { children: [] };
    },
  });
  await world.put(aComposite({ hooks: { sync: aHook("/sync") } }), aThing("t"));
  await poke(world);
  expect(world.names(API, "Part")).toStrictEqual([]);
});

test("a delete does not hit another object of the same name", async () => {
  const world = await startWorld({
    "/sync": async (_, call) => {
      if (call !== 3) return { children: [aPart("a")] };
      await world.store.delete(await world.store.kind(API, "Part"), "ns", "a");
      await world.store.put(aThing("a", { spec: { another: 1 } }, "Part"));
      return { children: [] };
    },
  });
  await world.put(aComposite(), aThing("t"));
  await world.store.clock.advance(0);
  expect(world.count("/sync")).toBe(2);
  await world.store.put(poked(aThing("t")));
  await world.store.clock.advance(0);
  expect(world.find(API, "Part", "a")?.["spec"]).toStrictEqual({ another: 1 });
  expect(world.failures.join()).toMatch(/Precondition failed: UID/);
});

test("an update is compare-and-swap: a stale view loses, without an error, and is synced again", async () => {
  const world = await startWorld({
    "/sync": async ({ children, parent }) => {
      const seen = children[`Part.${API}`]?.["ns/a"];
      if (parent.metadata.generation === 2 && !(seen?.["spec"] as { theirs?: number })?.theirs) {
        await world.store.put({ ...world.find(API, "Part", "a") ?? aThing("a"), spec: { n: 1, theirs: 1 } });
      }
      return { status: {}, children: [aPart("a", { spec: { n: parent.metadata.generation } })] };
    },
  });
  await world.put(aComposite(), aThing("t"));
  await poke(world);
  expect(world.find(API, "Part", "a")?.["spec"]).toStrictEqual({ n: 2, theirs: 1 });
  expect(world.writes().filter((write) => write === "update Part a").length).toBe(2);
  expect(events(world)).toStrictEqual([]);
});

test("a foreign object of the child's name: left alone, no error, no event", async () => {
  const world = await startWorld({
    "/sync": () => ({ status: { ok: true }, children: [aPart("a", { spec: { ours: 1 } })] }),
  });
  await world.put(aThing("a", { spec: { theirs: 1 } }, "Part"), aComposite(), aThing("t"));
  expect(world.find(API, "Part", "a")?.["spec"]).toStrictEqual({ theirs: 1 });
  expect(status(world)).toMatchObject({ ok: true });
  expect(world.failures).toStrictEqual([]);
});

test("a terminating child is shown, left alone, and replaced once it is gone", async () => {
  let listed = true;
  const world = await startWorld({
    "/sync": ({ parent }) => ({
      status: {},
      children: listed ? [aPart("a", { spec: { n: parent.metadata.generation } })] : [],
    }),
  });
  await world.put(aComposite(), aThing("t"));
  await world.edit(
    API,
    "Part",
    "a",
    (part) => ({ ...part, metadata: { ...part.metadata, finalizers: ["test/hold"] } }),
  );
  await world.drop(API, "Part", "a");
  world.writes();
  await poke(world);
  expect(world.writes().filter((write) => write.includes("Part"))).toStrictEqual([]);
  expect(world.calls.at(-1)?.body.children[`Part.${API}`]).toHaveProperty(["ns/a", "metadata", "deletionTimestamp"]);
  listed = false;
  await poke(world);
  expect(world.writes().filter((write) => write.includes("Part"))).toStrictEqual([]);
  listed = true;
  await world.edit(
    API,
    "Part",
    "a",
    ({ metadata: { finalizers: _, ...metadata }, ...part }) => ({ ...part, metadata }) as never,
  );
  expect(world.find(API, "Part", "a")).toMatchObject({ spec: { n: 3 }, metadata: { generation: 1 } });
});

test.for([
  { name: "a wrong generated label", child: aPart("a", { metadata: { labels: { "controller-uid": "x" } } }) },
  { name: "labels that are not text", child: aPart("a", { metadata: { labels: { a: 1 } } }) },
  { name: "labels null", child: aPart("a", { metadata: { labels: null } }) },
])("refuses $name before anything is written, with an event", async ({ child }) => {
  const world = await startWorld({ "/sync": () => ({ status: { n: 1 }, children: [aPart("ok"), child] }) });
  await world.put(aComposite(), aThing("t"));
  expect(world.names(API, "Part")).toStrictEqual([]);
  expect(status(world)).toBeUndefined();
  expect(events(world)[0]).toMatchObject({ type: "Warning", involvedObject: { kind: "Thing", name: "t" } });
});

test("what fails with one child does not stop the others, nor the status; then it comes again", async () => {
  let refuse = true;
  const world = await startWorld({
    "/sync": () => ({ status: { n: 1 }, children: [aPart("a"), aPart("b"), aPart("c")] }),
  }, {
    fault: ({ verb, name }) =>
      refuse && verb === "create" && name === "b" ? { error: new StoreError(403, "Forbidden", "no b") } : undefined,
  });
  await world.put(aComposite(), aThing("t"));
  expect(world.names(API, "Part")).toStrictEqual(["a", "c"]);
  expect(status(world)).toMatchObject({ n: 1 });
  expect(events(world)[0]?.["message"]).toMatch(/no b/);
  refuse = false;
  await world.store.clock.advance(60_000);
  expect(world.names(API, "Part")).toStrictEqual(["a", "b", "c"]);
});

test("an answer that got lost does no harm: what was made is observed", async () => {
  let lost = 0;
  const world = await startWorld({ "/sync": () => ({ status: {}, children: [aPart("a")] }) }, {
    fault: ({ verb, name }) =>
      verb === "create" && name === "a" && lost++ === 0
        ? { error: new Error("connection lost"), applied: true }
        : undefined,
  });
  await world.put(aComposite(), aThing("t"));
  await world.store.clock.advance(1000);
  expect(world.names(API, "Part")).toStrictEqual(["a"]);
  expect(world.writes().filter((write) => write === "create Part a")).toHaveLength(1);
});
