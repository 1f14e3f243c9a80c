/** What hookbox relies on in Metacontroller, ends and lost updates: the same for the real and the fake one. @module */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type EngineWorld, eventually, makeEngineWorld } from "./engine-world.ts";

let world: EngineWorld;
beforeAll(async () => void (world = await makeEngineWorld()));
afterAll(() => world?.stop());

/** Takes all finalizers off a Thing, or a Part. */
const release = (name: string, plural: "things" | "parts" = "things") =>
  world.edit(world.api, plural, name, (object) => ({ ...object, metadata: { ...object.metadata, finalizers: [] } }));

test("a parent that is being deleted, without a finalize hook: its children are left alone, its status is written", async () => {
  world.hook("/ending", ({ parent }) => {
    const ends = parent.metadata.deletionTimestamp !== undefined;
    return { status: { ends }, children: [world.aPart(ends ? "ending-late" : "ending")] };
  });
  await world.composite("ending", {
    generateSelector: true,
    parentResource: world.parents("ending"),
    childResources: [world.parts("InPlace")],
    hooks: { sync: world.at("/ending") },
  });
  const metadata = { name: "ending", labels: { test: "ending" }, finalizers: ["example.com/held"] };
  await world.apply({ apiVersion: world.api, kind: "Thing", metadata });
  await eventually("a child", () => world.part("ending"));
  await world.drop(world.api, "things", "ending");
  await eventually("a status", async () => (await world.statusOf("ending"))?.["ends"]);
  await world.quiet("/ending");
  expect(await world.part("ending")).toBeDefined();
  expect(await world.part("ending-late")).toBeUndefined();
  await release("ending");
});

test("a parent that is deleted in the foreground is finalized, its children are left to the garbage collector", async () => {
  // Held: once the last child is gone, the garbage collector takes its finalizer off the parent, which is like any other then.
  const held = world.aPart("foreground", {}, { finalizers: ["example.com/held"] });
  world.hook("/foreground-sync", () => ({ status: {}, children: [held] }));
  world.hook("/foreground", () => ({ status: { ends: true }, children: [world.aPart("foreground-late")] }));
  await world.composite("foreground", {
    generateSelector: true,
    parentResource: world.parents("foreground"),
    childResources: [world.parts("InPlace")],
    hooks: { sync: world.at("/foreground-sync"), finalize: world.at("/foreground") },
  });
  await world.thing("foreground");
  await eventually("a child", () => world.part("foreground"));
  const things = await world.store.resource(world.api, "things");
  await world.store.delete(things, world.namespace, "foreground", { propagation: "Foreground" });
  await eventually("a status", async () => (await world.statusOf("foreground"))?.["ends"]);
  await world.quiet("/foreground");
  expect(world.calls("/foreground").every(({ finalizing }) => finalizing)).toBe(true);
  expect(await world.part("foreground-late")).toBeUndefined();
  await release("foreground", "parts");
  await release("foreground");
});

test("a decorator whose parent changes during the call leaves its attachments to the next sync, without an event", async () => {
  const attachments: boolean[] = [];
  world.hook("/lost", async (_, count) => {
    attachments.push(await world.part("lost") !== undefined);
    const change = { theirs: "1" };
    if (count === 1) {
      await world.edit(
        world.api,
        "things",
        "lost",
        (object) => ({ ...object, metadata: { ...object.metadata, annotations: change } }),
      );
    }
    return { labels: { added: "1" }, attachments: [world.aPart("lost")] };
  });
  await world.decorator("lost", {
    resources: [world.parents("lost")],
    attachments: [world.parts("InPlace")],
    hooks: { sync: world.at("/lost") },
  });
  const parent = await world.thing("lost");
  await eventually("an attachment", () => world.part("lost"));
  await world.quiet("/lost");
  expect((await world.find(world.api, "things", "lost"))?.metadata).toMatchObject({
    labels: { added: "1" },
    annotations: { theirs: "1" },
  });
  expect(attachments.slice(0, 2)).toStrictEqual([false, false]);
  expect(await world.syncError(parent)).toBeUndefined();
});
