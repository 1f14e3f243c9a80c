/** What a CompositeController does with its parents: which it syncs and when, and their status. @module */
import { expect, test } from "vitest";
import { StoreError } from "../../../packages/testing/store/store.ts";
import { events, poke, status } from "./composites.ts";
import { aComposite, aPart, API, aThing, poked, startWorld } from "./world.ts";

test.for([
  { name: "missing", spec: {} },
  { name: "empty", spec: { selector: { matchLabels: {} } } },
])("without generateSelector a $name selector is an error", async ({ spec }) => {
  const world = await startWorld({ "/sync": () => ({ children: [] }) });
  await world.put(aComposite({ generateSelector: false }), aThing("t", { spec }));
  expect(world.count("/sync")).toBe(0);
  expect(events(world)[0]?.["message"]).toMatch(/spec.selector is missing or empty/);
});

test("status: last writer wins, in four tries", async () => {
  let conflicts = 3;
  const world = await startWorld({ "/sync": () => ({ status: { n: 1 }, children: [] }) }, {
    fault: ({ verb }) =>
      verb === "updateStatus" && conflicts-- > 0 ? { error: new StoreError(409, "Conflict", "changed") } : undefined,
  });
  await world.store.put(aComposite());
  await world.store.put(aThing("t"));
  await world.store.clock.advance(10 + 50 + 250);
  expect(status(world)).toMatchObject({ n: 1 });
});

test("a status that loses four times is given up silently, and a child's failure with it", async () => {
  let losing = true;
  const world = await startWorld({ "/sync": () => ({ status: { n: 1 }, children: [aPart("a")] }) }, {
    fault({ verb, resource }) {
      if (verb === "updateStatus" && losing) return { error: new StoreError(409, "Conflict", "changed") };
      return verb === "create" && resource.kind === "Part"
        ? { error: new StoreError(403, "Forbidden", "no parts") }
        : undefined;
    },
  });
  await world.store.put(aComposite());
  await world.store.put(aThing("t"));
  await world.store.clock.advance(10_000);
  expect(world.writes().filter((write) => write === "updateStatus Thing t")).toHaveLength(4);
  expect(events(world)).toStrictEqual([]);
  losing = false;
  await poke(world);
  expect(events(world)[0]?.["message"]).toMatch(/no parts/);
});

test("observedGeneration is that of the parent which the hook saw", async () => {
  const world = await startWorld({
    "/sync": async (_, call) => {
      if (call === 2) await world.store.put(poked(world.find(API, "Thing", "t") ?? aThing("t")));
      return { status: { call }, children: [] };
    },
  });
  const seen: unknown[] = [];
  await world.put(
    aComposite({ parentResource: { apiVersion: API, resource: "things", ignoreStatusChanges: true } }),
    aThing("t"),
  );
  world.store.watch(await world.store.kind(API, "Thing"), {
    replace: () => {},
    deleted: () => {},
    changed: (object) => seen.push(object["status"]),
  });
  await poke(world);
  expect(seen).toContainEqual({ call: 2, observedGeneration: 2 });
  expect(status(world)).toStrictEqual({ call: 3, observedGeneration: 3 });
});

test("a status is not written to another parent of the same name", async () => {
  const written: [unknown, unknown][] = [];
  const world = await startWorld({
    "/sync": async ({ parent }, call) => {
      if (call === 1) {
        await world.store.delete(await world.store.kind(API, "Thing"), "ns", "t");
        await world.store.put(aThing("t", { spec: { another: 1 } }));
      }
      return { status: { of: parent.metadata.uid }, children: [] };
    },
  }, {
    admit(object) {
      if (object["status"]) written.push([object.metadata.uid, (object["status"] as { of?: string }).of]);
      return object;
    },
  });
  await world.put(aComposite(), aThing("t"));
  expect(written.filter(([of, by]) => of !== by)).toStrictEqual([]);
  expect(status(world)).toMatchObject({ of: world.find(API, "Thing", "t")?.metadata.uid });
});

test("a parent without finalize hook: its children are not managed while it goes, the collector takes them", async () => {
  const world = await startWorld({
    "/sync": ({ parent }) => ({ status: {}, children: parent.metadata.deletionTimestamp ? [] : [aPart("a")] }),
  });
  await world.put(aComposite(), aThing("t", { metadata: { finalizers: ["test/hold"] } }));
  await world.drop(API, "Thing", "t");
  expect(world.calls.at(-1)?.body.parent.metadata.deletionTimestamp).toBeDefined();
  expect(world.names(API, "Part")).toStrictEqual(["a"]);
  await world.edit(
    API,
    "Thing",
    "t",
    ({ metadata: { finalizers: _, ...metadata }, ...thing }) => ({ ...thing, metadata }) as never,
  );
  expect(world.names(API, "Part")).toStrictEqual([]);
});

test("ignoreStatusChanges spares the call after the controller's own status write", async () => {
  for (const [ignoreStatusChanges, calls] of [[true, 1], [false, 2]] as const) {
    const world = await startWorld({ "/sync": () => ({ status: { n: 1 }, children: [] }) });
    await world.put(
      aComposite({ parentResource: { apiVersion: API, resource: "things", ignoreStatusChanges } }),
      aThing("t"),
    );
    expect(world.count("/sync")).toBe(calls);
    await world.edit(API, "Thing", "t", (thing) => ({ ...thing, metadata: { ...thing.metadata, labels: { a: "1" } } }));
    expect(world.count("/sync")).toBe(calls + 1);
  }
});

test("only parents that the rule's selector matches are synced", async () => {
  const labelSelector = { matchExpressions: [{ key: "mine", operator: "Exists" }] };
  const world = await startWorld({ "/sync": () => ({ children: [] }) });
  const parentResource = { apiVersion: API, resource: "things", labelSelector };
  await world.put(aComposite({ parentResource }), aThing("t"), aThing("u", { metadata: { labels: { mine: "" } } }));
  expect(world.calls.map(({ body }) => body.parent.metadata.name)).toStrictEqual(["u", "u"]);
});
