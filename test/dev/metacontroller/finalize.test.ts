/** Finalizers and finalize hooks. @module */
import { describe, expect, test } from "vitest";
import { aComposite, aDecorator, aHook, aPart, API, aThing, poked, startWorld } from "./world.ts";

const hooks = { sync: aHook("/sync"), finalize: aHook("/finalize") };
const LABELLED = { labelSelector: { matchLabels: { on: "1" } } };
const flavours = [
  {
    kind: "composite",
    make: (spec = {}) => aComposite({ hooks, ...spec }),
    children: "children",
    finalizer: "metacontroller.io/compositecontroller-things",
  },
  {
    kind: "decorator",
    make: (spec = {}) => aDecorator({ hooks, ...spec }),
    children: "attachments",
    finalizer: "metacontroller.io/decoratorcontroller-deco",
  },
];

describe.for(flavours)("$kind", ({ kind, make, children, finalizer }) => {
  const answers = (extra = {}) => ({
    "/sync": () => ({ status: {}, [children]: [aPart("a")] }),
    "/finalize": ({ children: observed }: { children: Record<string, object> }) => ({
      status: {},
      [children]: [],
      finalized: Object.keys(observed[`Part.${API}`] ?? {}).length === 0,
      ...extra,
    }),
  });
  const selecting = () =>
    kind === "composite"
      ? { parentResource: { apiVersion: API, resource: "things", ...LABELLED } }
      : { resources: [{ apiVersion: API, resource: "things", ...LABELLED }] };

  test("adds its finalizer before the first call, and removes it when the hook has finalized", async () => {
    const world = await startWorld(answers());
    await world.put(make(), aThing("t"));
    expect(world.calls[0]?.body.parent.metadata["finalizers"]).toStrictEqual([finalizer]);
    await world.drop(API, "Thing", "t");
    expect(world.find(API, "Thing", "t")).toBeUndefined();
    expect(world.names(API, "Part")).toStrictEqual([]);
    const finalizing = world.calls.filter(({ path }) => path === "/finalize");
    expect(finalizing.map(({ body }) => body["finalizing"])).not.toContain(false);
    expect(world.calls.filter(({ path }) => path === "/sync").map(({ body }) => body["finalizing"])).not.toContain(
      true,
    );
    expect(world.failures).toStrictEqual([]);
  });

  test("a parent that no longer matches is finalized, then forgotten", async () => {
    const world = await startWorld(answers());
    await world.put(make(selecting()), aThing("t", { metadata: { labels: { on: "1" } } }));
    await world.edit(API, "Thing", "t", (thing) => ({ ...thing, metadata: { ...thing.metadata, labels: {} } }));
    expect(world.find(API, "Thing", "t")?.metadata["finalizers"]).toBeUndefined();
    expect(world.names(API, "Part")).toStrictEqual([]);
    const calls = world.calls.length;
    await world.edit(API, "Thing", "t", poked);
    expect(world.calls.length).toBe(calls);
  });

  test("foreground deletion leaves children to the garbage collector", async () => {
    const world = await startWorld(answers());
    await world.put(make(), aThing("t"));
    world.writes();
    await world.store.delete(await world.store.kind(API, "Thing"), "ns", "t", { propagation: "Foreground" });
    await world.engine.idle();
    expect(world.writes()).not.toContain("delete Part a");
    expect(world.names(API, "Part")).toStrictEqual([]);
    expect(world.find(API, "Thing", "t")).toBeUndefined();
  });

  test("a controller without finalize hook takes its finalizer off", async () => {
    const world = await startWorld(answers());
    await world.put(
      make({ hooks: { sync: aHook("/sync") } }),
      aThing("t", { metadata: { finalizers: [finalizer, "test/other"] } }),
    );
    expect(world.find(API, "Thing", "t")?.metadata["finalizers"]).toStrictEqual(["test/other"]);
  });

  test("a parent that is already going gets no finalizer and no management", async () => {
    const world = await startWorld(answers({ finalized: false }));
    await world.put(aThing("t", { metadata: { finalizers: ["test/hold"] } }));
    await world.drop(API, "Thing", "t");
    await world.put(make());
    expect(world.find(API, "Thing", "t")?.metadata["finalizers"]).toStrictEqual(["test/hold"]);
    expect(world.names(API, "Part")).toStrictEqual([]);
    expect(world.count("/sync")).toBe(0);
    expect(world.count("/finalize")).toBeGreaterThan(0);
  });

  test("without a sync hook every sync fails", async () => {
    const world = await startWorld(answers());
    await world.put(make({ hooks: { finalize: aHook("/finalize") } }), aThing("t"));
    expect(world.failures[0]).toMatch(/has no sync hook/);
  });
});
