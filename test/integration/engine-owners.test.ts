/** What hookbox relies on in Metacontroller, owners: adoption, release and change of the owner of children. @module */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { KubeObject } from "../../packages/api/objects/objects.ts";
import { type EngineWorld, eventually, makeEngineWorld, reference } from "./engine-world.ts";

let world: EngineWorld;
beforeAll(async () => void (world = await makeEngineWorld()));
afterAll(() => world?.stop());

test("a composite adopts an orphan that its selector matches, and releases a child that it no longer matches", async () => {
  world.hook(
    "/adopt",
    (call) => ({
      status: {},
      children: world.shown(call).map(({ metadata }) => world.aPart(metadata.name, {}, { labels: { app: "adopt" } })),
    }),
  );
  await world.composite("adopt", {
    parentResource: world.parents("adopt"),
    childResources: [world.parts()],
    hooks: { sync: world.at("/adopt") },
  });
  await world.apply(world.aPart("adopt-early", {}, { labels: { app: "adopt" } }));
  const parent = await world.thing("adopt", { spec: { selector: { matchLabels: { app: "adopt" } } } });
  await world.apply(world.aPart("adopt-late", {}, { labels: { app: "adopt" } }));
  await world.apply(world.aPart("adopt-not", {}, { labels: { app: "other" } }));
  for (const name of ["adopt-early", "adopt-late"]) {
    await eventually(
      `adoption of ${name}`,
      async () => ((await world.part(name))?.metadata.ownerReferences ?? [])[0]?.uid === parent.metadata.uid,
    );
  }
  await world.edit(
    world.api,
    "parts",
    "adopt-early",
    (object) => ({ ...object, metadata: { ...object.metadata, labels: { app: "gone" } } }),
  );
  await eventually("release", async () => (await world.part("adopt-early"))?.metadata.ownerReferences === undefined);
  expect((await world.part("adopt-not"))?.metadata.ownerReferences).toBeUndefined();
  await world.quiet("/adopt");
  expect(world.shown(world.calls("/adopt").at(-1)).map(({ metadata }) => metadata.name)).toStrictEqual([
    "adopt-late",
  ]);
});

test("a child changes its owner by a swap of its ownerReferences, in one write, and is an attachment of its new owner", async () => {
  const name = `decorate-handover-${world.namespace}`;
  const annotations = { "metacontroller.k8s.io/decorator-controller": name };
  const owner = await world.thing("pool");
  const parties: { claim?: KubeObject } = {};
  world.hook("/pool", () => {
    const taken = world.calls("/claim").some((call) => world.shown(call).length > 0);
    const metadata = { annotations, ownerReferences: [reference(parties.claim ?? owner)] };
    return { status: {}, children: taken ? [] : [world.aPart("handed", { spec: { x: 1 } }, metadata)] };
  });
  world.hook(
    "/claim",
    (call) => ({ attachments: world.shown(call).map(({ metadata }) => world.aPart(metadata.name)) }),
  );
  await world.composite("handover", {
    generateSelector: true,
    parentResource: world.parents("pool"),
    childResources: [world.parts("InPlace")],
    hooks: { sync: world.at("/pool") },
  });
  await world.decorator("decorate-handover", {
    resources: [world.parents("claim")],
    attachments: [world.parts()],
    hooks: { sync: world.at("/claim") },
  });
  const before = await eventually("a child", () => world.part("handed"));
  const newOwner = await world.thing("claim");
  await eventually("the claim's first sync", () => world.calls("/claim").length > 0);
  parties.claim = newOwner;
  await world.poke("pool");
  await eventually("an attachment", () => world.calls("/claim").some((call) => world.shown(call).length === 1));
  await world.quiet("/pool");
  const after = await world.part("handed");
  expect(after?.metadata.uid).toBe(before.metadata.uid);
  expect(after?.metadata.ownerReferences).toStrictEqual([reference(newOwner)]);
  expect(after?.metadata.generation).toBe(before.metadata.generation);
});

test("a swap whose old owner is not in last-applied is refused: two controllers, SyncError", async () => {
  const other = await world.thing("none", {}, "swap-other");
  let swap = false;
  world.hook(
    "/swap",
    () => ({ status: {}, children: [world.aPart("swap", {}, swap ? { ownerReferences: [reference(other)] } : {})] }),
  );
  await world.composite("swap", {
    generateSelector: true,
    parentResource: world.parents("swap"),
    childResources: [world.parts("InPlace")],
    hooks: { sync: world.at("/swap") },
  });
  const parent = await world.thing("swap");
  await eventually("a child", () => world.part("swap"));
  swap = true;
  await world.poke("swap");
  const event = await eventually("an event", () => world.syncError(parent));
  expect(event["message"]).toMatch(/Only one reference can have Controller set to true/);
  expect((await world.part("swap"))?.metadata.ownerReferences).toStrictEqual([reference(parent)]);
});
